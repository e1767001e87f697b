/**
 * Makes `npm pack` in cli/ give one tarball that works anywhere. Our packages are copied into cli/lib, each with the
 * shape it has here, and imports between them become relative paths; other people's packages are named in
 * cli/package.json and installed by npm as ever. npm's own bundling is of no use for this: it installs no dependency
 * of a bundled package, and leaves empty folders where one must be nested (npm 11, a project with another zod).
 * Run by npm before packing (`prepack`) and, with `--clean`, after it (`postpack`).
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { explain, filesBelow, root, SetupFailed, setUp } from "./setup.mjs"

const cli = join(root, "cli")
const lib = join(cli, "lib")

/** Where each package lies here, by its name in the tarball. */
const folders = {
  cli: "cli",
  control: "control",
  protocol: "protocol",
  server: "server",
  toolkit: "toolkit",
  "worker-js": "workers/js",
}

const places = ["dist", "src/migrations", "worker"]

/** What runs. Maps would point at sources that are not there, and tests need what is not shipped. */
const isShipped = (path) =>
  /\.(js|json|sql|css|html|svg)$/.test(path) && !/\.test\.js$|\/testing\/|\/fixtures\//.test(path)

async function stage() {
  await setUp()
  const missing = missingDependencies()
  if (missing.length > 0) throw new SetupFailed(missing.join("\n"))
  clean()
  for (const [name, folder] of Object.entries(folders)) stagePackage(name, join(root, folder))
  stagePython()
  stageTemplate("chat")
  cpSync(join(root, "LICENSE"), join(cli, "LICENSE"))
}

function stagePackage(name, from) {
  const files = places.flatMap((place) => filesBelow(join(from, place))).filter(isShipped)
  for (const file of files) stageFile(file, join(lib, name, relative(from, file)))
  const { name: packageName, version, type } = JSON.parse(readFileSync(join(from, "package.json"), "utf8"))
  writeFileSync(join(lib, name, "package.json"), JSON.stringify({ name: packageName, version, type, private: true }))
}

/** At the same place beside the server as here, which is how the server finds it. */
function stagePython() {
  const from = join(root, "workers/python")
  const sources = [join(from, "main.py"), ...filesBelow(join(from, "superstep_worker"))]
  for (const file of sources.filter((path) => path.endsWith(".py"))) {
    stageFile(file, join(lib, "workers/python", relative(from, file)))
  }
}

function stageFile(from, to) {
  mkdirSync(dirname(to), { recursive: true })
  if (!to.endsWith(".js")) return cpSync(from, to)
  const text = withRelativeImports(readFileSync(from, "utf8"), relative(lib, to))
  return writeFileSync(to, text.replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n"))
}

/** `"@superstep/toolkit/db/sql"` in `server/dist/runs/queries.js` becomes `"../../../toolkit/dist/db/sql.js"`. */
export function withRelativeImports(text, path) {
  return text.replaceAll(/"@superstep\/([\w-]+)\/([\w./-]+)"/g, (_, name, file) => {
    const to = relative(dirname(path), join(name, "dist", `${file}.js`))
    return JSON.stringify(to.startsWith(".") ? to : `./${to}`)
  })
}

const manifestOf = (folder) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"))

/** The published package is the only one that npm installs, so it must name what all of them need. */
export function missingDependencies() {
  const own = manifestOf(folders.cli)
  const named = { ...own.dependencies, ...own.optionalDependencies }
  return Object.values(folders).flatMap((folder) => {
    const { name, dependencies = {}, optionalDependencies = {} } = manifestOf(folder)
    return Object.entries({ ...dependencies, ...optionalDependencies })
      .filter(([guest, version]) => !guest.startsWith("@superstep/") && named[guest] !== version)
      .map(([guest, version]) => `cli/package.json must name what ${name} needs: ${guest}@${version}`)
  })
}

/** npm leaves .gitignore and .npmrc out of any package, so dotfiles travel as `dot-…` (cli/src/project/template.ts). */
function stageTemplate(name) {
  const template = join(root, "examples", name)
  if (!existsSync(template)) throw new SetupFailed(`examples/${name} is missing: \`superstep new\` copies it`)
  for (const entry of readdirSync(template)) {
    if (["node_modules", ".superstep", "dist", "package-lock.json"].includes(entry)) continue
    const carried = entry.startsWith(".") ? `dot-${entry.slice(1)}` : entry
    cpSync(join(template, entry), join(lib, "cli/templates", name, carried), { recursive: true })
  }
}

function clean() {
  for (const path of [lib, join(cli, "LICENSE")]) rmSync(path, { recursive: true, force: true })
}

if (process.argv[1]?.endsWith("stage-package.mjs")) {
  if (process.argv.includes("--clean")) clean()
  else await stage().catch(explain)
}
