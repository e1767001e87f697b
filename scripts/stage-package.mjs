/**
 * Makes `npm pack` in cli/ give one tarball that works anywhere: npm bundles what lies in cli/node_modules, so our own
 * packages are put there as real copies (npm would follow a workspace's link to nothing), with the templates beside
 * them. Other people's packages stay out: cli/package.json names them, and npm installs them as ever.
 * Run by npm before (`prepack`) and, with `--clean`, after (`postpack`).
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, join, relative } from "node:path"
import { explain, filesBelow, root, SetupFailed, setUp } from "./setup.mjs"

const cli = join(root, "cli")
const staged = ["node_modules/@superstep", "templates", "LICENSE"].map((path) => join(cli, path))

const folders = {
  control: "control",
  protocol: "protocol",
  server: "server",
  toolkit: "toolkit",
  "worker-js": "workers/js",
}

/** What runs: compiled code and SQL. Maps would point at sources that are not there; tests need their fixtures. */
const isShipped = (path) =>
  /\.(js|json|sql|css|html|svg)$/.test(path) && !/\.test\.js$|\/testing\/|\/fixtures\/|tsbuildinfo/.test(path)

async function stage() {
  await setUp()
  clean()
  for (const [name, folder] of Object.entries(folders)) stagePackage(join(root, folder), join(staged[0], name))
  stageTemplates()
  cpSync(join(root, "LICENSE"), join(cli, "LICENSE"))
}

function stagePackage(from, to) {
  const { devDependencies, scripts, files, ...manifest } = JSON.parse(readFileSync(join(from, "package.json"), "utf8"))
  const missing = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }).filter(
    (name) => !isNamed(name),
  )
  if (missing.length > 0)
    throw new SetupFailed(`cli/package.json must name what ${manifest.name} needs: ${missing.join(", ")}`)
  mkdirSync(to, { recursive: true })
  writeFileSync(join(to, "package.json"), JSON.stringify(manifest, null, 2))
  const places = ["dist", "src/migrations", ...(basename(from) === "protocol" ? ["worker"] : [])]
  for (const file of places.flatMap((place) => filesBelow(join(from, place))).filter(isShipped)) {
    cpSync(file, join(to, relative(from, file)), { recursive: true })
  }
}

const own = JSON.parse(readFileSync(join(cli, "package.json"), "utf8"))
const isNamed = (name) => name in own.dependencies || name in own.optionalDependencies

/** npm leaves .gitignore and .npmrc out of any package, so dotfiles travel as `dot-…` (cli/src/project/template.ts). */
function stageTemplates() {
  const template = join(root, "examples/chat")
  if (!existsSync(template)) throw new SetupFailed("examples/chat is missing: `superstep new` copies it")
  for (const entry of readdirSync(template)) {
    if (["node_modules", ".superstep", "dist", "package-lock.json"].includes(entry)) continue
    const name = entry.startsWith(".") ? `dot-${entry.slice(1)}` : entry
    cpSync(join(template, entry), join(cli, "templates/chat", name), { recursive: true })
  }
}

function clean() {
  for (const path of staged) rmSync(path, { recursive: true, force: true })
}

if (process.argv.includes("--clean")) clean()
else await stage().catch(explain)
