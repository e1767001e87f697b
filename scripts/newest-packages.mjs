/**
 * A second checkout for `npm test -- --newest`: the same files, with the newest LangGraph packages in place of those that
 * package-lock.json pins. `tests/newest` names them. Nothing in the tests knows of it: graphs, workers and clients of the copy
 * resolve their packages there.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { missingPackages, root, step } from "./setup.mjs"

const pins = join(root, "tests/newest")

/** Projects that a deployment builds with `npm ci`: they get the newest packages by their own lock file. */
const builtProjects = ["tests/agent", "examples/chat", "examples/approval"]

const isCopied = (path) => !/^(node_modules|\.git|\.ci|\.superstep)$|\.tgz$/.test(basename(path))

/**
 * @param folder  an empty folder, which becomes the checkout
 * @returns its package names and versions, such as `@langchain/core 1.4.0`
 */
export async function makeNewestCheckout(folder) {
  await installPins()
  cpSync(root, folder, { recursive: true, filter: isCopied })
  linkPackages(join(folder, "node_modules"))
  linkWorkspaces(folder)
  for (const project of builtProjects) pinProject(join(folder, project))
  return Object.entries(readJson(join(pins, "package.json")).dependencies).map((pin) => pin.join(" "))
}

async function installPins() {
  const lock = readJson(join(pins, "package-lock.json"))
  const installed = join(pins, "node_modules/.package-lock.json")
  if (missingPackages(lock, existsSync(installed) ? readJson(installed) : undefined).length === 0) return
  const args = ["ci", "--ignore-scripts", "--no-fund", "--no-audit", "--loglevel=error"]
  await step("installing the newest LangGraph", "npm", args, pins)
}

/** Each package of this checkout; where the newest ones have another copy, that one. */
function linkPackages(modules) {
  const newest = packagesIn(join(pins, "node_modules"))
  const packages = new Map([...packagesIn(join(root, "node_modules")), ...newest])
  for (const [name, target] of packages) link(target, join(modules, name))
}

/** Our own packages are those of the copy. */
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

/** Path by name, without our own packages. */
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
