/** Makes a second checkout of the same files, whose programs find our own packages in the copy and all others in this checkout. */
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs"
import { basename, join } from "node:path"
import { root } from "./setup.mjs"

const isCopied = (path) => !/^(node_modules|\.git|\.ci|\.superstep)$|\.tgz$/.test(basename(path))

/**
 * @param folder  an empty folder, which becomes the checkout
 * @param others  a folder of packages that the copy gets in place of those of this checkout
 */
export function makeSecondCheckout(folder, others) {
  cpSync(root, folder, { recursive: true, filter: isCopied })
  const packages = new Map([...packagesIn(join(root, "node_modules")), ...(others ? packagesIn(others) : [])])
  for (const [name, target] of packages) link(target, join(folder, "node_modules", name))
  for (const workspace of readJson(join(root, "package.json")).workspaces) {
    const { name } = readJson(join(root, workspace, "package.json"))
    link(join(folder, workspace), join(folder, "node_modules", name))
  }
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
