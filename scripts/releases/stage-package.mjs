/**
 * Prepares cli/lib, so that `npm pack` in cli/ creates one self-contained tarball. cli/lib contains our bundled programs (which
 * include third-party packages), migrations, workers and templates, in the folders of this repository. Packages that are not
 * bundled are dependencies in cli/package.json. npm's `bundleDependencies` does not work here: it does not install the
 * dependencies of a bundled package, and leaves empty folders where one must be nested (npm 11, a project with another zod).
 * npm runs it before packing (`prepack`) and, with `--clean`, after it (`postpack`).
 * With `--create` it prepares cli/create/lib, for the package of `npm create`: one program and the templates.
 */
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { filesOfSite } from "../console.mjs"
import { buildDocs, filesOfDocs, packagesOfDocs } from "../docs.mjs"
import { isLeftBehind } from "../left-behind.mjs"
import { bundle, outside, packagesWithPrograms, workspaces } from "../programs.mjs"
import { explain, filesBelow, platform, root, SetupFailed, setUp } from "../setup.mjs"
import { licencesOf, packageFolders } from "./licences.mjs"

const isCreate = process.argv.includes("--create")
/** The folder of the published package. */
const packageRoot = join(root, isCreate ? "cli/create" : "cli")
const lib = join(packageRoot, "lib")

/** The program of cli/create: it is not in the other package. */
const createProgram = "create-main"

/** What programs read beside their bundles. */
const readFiles = ["server/src/migrations", "control/src/migrations"]
const isShipped = (path) => !path.endsWith(".md")

async function stage() {
  await setUp()
  const problems = wrongDependencies()
  if (problems.length > 0) throw new SetupFailed(problems.join("\n"))
  clean()
  const modules = isCreate ? await stageCreateProgram() : await stagePlatform()
  for (const name of ["chat", "python-chat"]) stageTemplate(name)
  cpSync(join(root, "LICENSE"), join(packageRoot, "LICENSE"))
  writeFileSync(join(lib, "THIRD-PARTY-LICENSES"), licencesOf(modules))
  writeFileSync(join(lib, "bundled-packages.json"), JSON.stringify(bundledPackages(modules), null, 2))
  for (const name of ["package.json", "README.md", "LICENSE"]) chmodSync(join(packageRoot, name), 0o644)
  for (const file of ["bin", "lib"].flatMap((name) => filesBelow(join(packageRoot, name)))) evenMode(file)
}

/** The rights on files depend on the umask of the machine, and npm packs them. */
const evenMode = (file) => chmodSync(file, statSync(file).mode & 0o100 ? 0o755 : 0o644)

/** @returns  the paths of all modules in it */
async function stagePlatform() {
  const modules = []
  for (const { path, programs } of packagesWithPrograms())
    modules.push(
      ...(await stagePrograms(
        path,
        programs.filter(({ name }) => !name.endsWith(createProgram)),
      )),
    )
  for (const path of readFiles) cpSync(join(root, path), join(lib, path), { recursive: true, filter: isShipped })
  stagePython()
  await stageDocs()
  return [...modules, ...stageConsole()]
}

function stageCreateProgram() {
  const { path, programs } = packagesWithPrograms().find((each) => each.path === "cli")
  return stagePrograms(
    path,
    programs.filter(({ name }) => name.endsWith(createProgram)),
  )
}

async function stagePrograms(path, programs) {
  const target = join(lib, path, "programs")
  const shipped = programs.filter(({ name }) => !name.includes("/testing/"))
  if (shipped.length === 0) return []
  const { files, modules } = await bundle({ folder: root, path, programs: shipped, target, isPublished: true })
  for (const file of files.map((name) => join(target, name)))
    writeFileSync(file, withRelativeNames(readFileSync(file, "utf8"), relative(lib, file)))
  const { name, version, type } = manifestOf(path)
  writeFileSync(join(lib, path, "package.json"), JSON.stringify({ name, version, type, private: true }))
  return modules
}

/** The server finds it by its place relative to the JavaScript worker, as in this repository. */
function stagePython() {
  const from = join(root, "workers/python")
  const programs = ["main.py", "verify.py"].map((name) => join(from, name))
  const modules = filesBelow(join(from, "superstep_worker")).filter((path) => path.endsWith(".py"))
  for (const file of [...programs, ...modules]) {
    cpSync(file, join(lib, "workers/python", relative(from, file)))
  }
}

/** Its servers find it by its place relative to theirs. @returns the paths of all modules in it */
function stageConsole() {
  const { modules } = JSON.parse(readFileSync(join(root, "console/site/digest.json"), "utf8"))
  for (const file of filesOfSite()) cpSync(join(root, "console/site", file), join(lib, "console/site", file))
  return modules
}

/** The control plane finds it by its place relative to its own. It includes the licences of its packages. */
async function stageDocs() {
  await buildDocs()
  for (const file of filesOfDocs()) cpSync(join(root, "docs/site", file), join(lib, "docs/site", file))
}

/**
 * Replaces names of our packages by relative paths, since they do not exist as packages in the published one:
 * `"@superstep/worker-js/main"` in `server/programs/main.js` becomes `"../../workers/js/programs/main.js"`.
 */
export function withRelativeNames(text, path) {
  const named = /(\bfrom |\bimport\(|\bimport\.meta\.resolve\()"(@superstep\/[\w-]+|superstep)\/([\w./-]+)"/g
  const changed = text.replaceAll(named, (_, before, name, file) => {
    const folder = foldersByName()[name]
    const to = relative(dirname(path), join(folder, fileOf(manifestOf(folder).exports, file)))
    return before + JSON.stringify(to.startsWith(".") ? to : `./${to}`)
  })
  const left = /["'`]@superstep\/[^"'`]*["'`]/.exec(changed)
  if (left)
    throw new SetupFailed(`${path} contains the name ${left[0]}: use import.meta.resolve("…"), which is made relative`)
  return changed
}

function fileOf(exports, name) {
  const file = exports[`./${name}`]
  if (file === undefined)
    throw new SetupFailed(`${name} is not in \`exports\` by its name: the published package has only these files`)
  return file
}

const manifestOf = (folder) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"))

const foldersByName = () => Object.fromEntries(workspaces().map(({ path, manifest }) => [manifest.name, path]))

/** npm installs only the published package, so its dependencies must be exactly the packages that are not bundled. */
export function wrongDependencies() {
  const { dependencies = {}, optionalDependencies = {} } = manifestOf("cli")
  const named = { ...dependencies, ...optionalDependencies }
  const needed = neededPackages()
  return [
    ...Object.keys(needed)
      .filter((guest) => named[guest] !== needed[guest])
      .map((guest) => `cli/package.json must have ${guest}@${needed[guest]} in dependencies: it is not bundled`),
    ...Object.keys(named)
      .filter((guest) => needed[guest] === undefined)
      .map((guest) => `cli/package.json has ${guest} in dependencies, but it is bundled: move it to devDependencies`),
  ]
}

function neededPackages() {
  const isOutside = ([guest]) => outside.some((it) => guest === it || guest.startsWith(it.replace("*", "")))
  return Object.fromEntries(platform().flatMap(dependenciesOf).filter(isOutside))
}

function dependenciesOf(folder) {
  const { dependencies = {}, optionalDependencies = {} } = manifestOf(folder)
  return Object.entries({ ...dependencies, ...optionalDependencies }).filter(([it]) => !it.startsWith("@superstep/"))
}

/** As the lock files name them, from the root: in a copy of the repository `node_modules` may be a link. */
const bundledPackages = (modules) =>
  [...packageFolders(modules), ...(isCreate ? [] : packagesOfDocs())].map((folder) =>
    folder.replace(/^\.\.\/.*?(?=node_modules\/)/, ""),
  )

/** npm excludes .gitignore and .npmrc from packages, so dotfiles are stored as `dot-…` (cli/src/project/template.ts). */
function stageTemplate(name) {
  const template = join(root, "examples", name)
  if (!existsSync(template)) throw new SetupFailed(`examples/${name} is missing: \`superstep new\` copies it`)
  for (const entry of readdirSync(template)) {
    if (isLeftBehind(entry)) continue
    const carried = entry.startsWith(".") ? `dot-${entry.slice(1)}` : entry
    cpSync(join(template, entry), join(lib, "cli/templates", name, carried), { recursive: true })
  }
}

function clean() {
  for (const path of [lib, join(packageRoot, "LICENSE")]) rmSync(path, { recursive: true, force: true })
}

if (process.argv[1]?.endsWith("stage-package.mjs")) {
  if (process.argv.includes("--clean")) clean()
  else await stage().catch(explain)
}
