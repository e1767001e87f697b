/** Made by `scripts/console.mjs`: the texts of the files of `examples/chat`, by path. */
declare module "virtual:example-files" {
  const files: Readonly<Record<string, string>>
  export default files
}
