/** Made by `scripts/console.mjs`: the shape of one icon, as the elements within its `<svg>`. */
declare module "lucide:*" {
  const shape: string
  export default shape
}
