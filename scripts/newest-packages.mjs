/**
 * Creates a second checkout for `npm test -- --newest`: the same files, with the newest LangGraph packages (listed in
 * `tests/newest`) instead of those that package-lock.json pins. The tests need no change: graphs, workers and clients of the
 * copy resolve their packages there.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { commandStep, missingPackages, root } from "./setup.mjs"

const pins = join(root, "tests/newest")

/** Projects that deployments build with `npm ci`: their own lock files get the newest packages. */
const builtProjects = ["tests/agent", "examples/chat", "examples/approval"]

const isCopied = (path) => !/^(node_modules|\.git|\.ci|\.superstep)$|\.tgz$/.test(basename(path))

/**
 * @param folder  an empty folder, which becomes the checkout
 * @returns  its packages with their versions, such as `@langchain/core 1.4.0`
 */
export async function makeNewestCheckout(folder) {
  await installPins()
  cpSync(root, folder, { recursive: true, filter: isCopied })
  linkPackages(join(folder, "node_modules"))
  // The inputs of the programs (scripts/programs.mjs).
  link(join(root, "node_modules/.package-lock.json"), join(folder, "node_modules/.package-lock.json"))
  linkWorkspaces(folder)
  for (const project of builtProjects) pinProject(join(folder, project))
  return Object.entries(readJson(join(pins, "package.json")).dependencies).map((pin) => pin.join(" "))
}

async function installPins() {
  const lock = readJson(join(pins, "package-lock.json"))
  const installed = join(pins, "node_modules/.package-lock.json")
  if (missingPackages(lock, existsSync(installed) ? readJson(installed) : undefined).length === 0) return
  const args = ["ci", "--ignore-scripts", "--no-fund", "--no-audit", "--loglevel=error"]
  await commandStep("installing the newest LangGraph", "npm", args, pins)
}

/** Links each package of this checkout, or the newest version where there is one. */
function linkPackages(modules) {
  const newest = packagesIn(join(pins, "node_modules"))
  const packages = new Map([...packagesIn(join(root, "node_modules")), ...newest])
  for (const [name, target] of packages) link(target, join(modules, name))
}

/** Links our own packages to the copy. */
function linkWorkspaces(folder) {
  for (const workspace of readJson(join(root, "package.json")).workspaces) {
    const { name } = readJson(join(root, workspace, "package.json"))
    link(join(folder, workspace), join(folder, "node_modules", name))
  }
}

function pinProject(folder) {
  const { dependencies } = readJson(join(pins, "package.json"))
  const { devDependencies, ...manifest } = readJson(join(folder, "package.json"))
  writeFileSync(join(folder, "package.json"), JSON.stringify({ ...manifest, dependencies }, null, 2))
  cpSync(join(pins, "package-lock.json"), join(folder, "package-lock.json"))
}

/** Paths of packages by name, without our own. */
function packagesIn(modules) {
  const ownNames = readJson(join(root, "package.json")).workspaces.map(
    (it) => readJson(join(root, it, "package.json")).name,
  )
  const names = readdirSync(modules)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) => (name.startsWith("@") ? readdirSync(join(modules, name)).map((it) => `${name}/${it}`) : [name]))
  return new Map(names.filter((name) => !ownNames.includes(name)).map((name) => [name, join(modules, name)]))
}

function link(target, path) {
  mkdirSync(join(path, ".."), { recursive: true })
  symlinkSync(target, path)
}

const readJson = (file) => JSON.parse(readFileSync(file, "utf8"))
