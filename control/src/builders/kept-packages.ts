/**
 * What installs of a deployment made, by their key, so that the same lock file is not installed again. K1 What is kept
 * is complete: it appears by rename. K2 Nothing that a build runs may change it: commands that may write into packages
 * get copies, and under root the files are ours. K3 It belongs to one deployment, since its install scripts made it.
 */
import { mkdir, readdir, realpath, rename, rm, stat, utimes } from "node:fs/promises"
import { dirname, join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { cloneTree } from "./clone-tree.js"
import { closeTree, removeTree } from "./publish.js"

export interface KeptPackages {
  /** Holds a folder for each key. */
  readonly folder: string
  readonly tree: string
  /** Who builds, and who reads what was built. */
  readonly user: OsUser | null
  readonly reader: OsUser | null
  /** Whether a command runs after the install, which may write into packages. */
  readonly mayBeChanged: boolean
}

// A branch or two beside the main one, and the state before an upgrade.
const mostKept = 3

/** Puts the packages of a former install into the tree. @returns false when there are none */
export async function restorePackages(kept: KeptPackages, key: string): Promise<boolean> {
  const folder = join(kept.folder, key)
  if (!(await isFolder(folder))) return false
  const paths = await modulesFolders(folder)
  for (const path of paths) if (!(await isRealFolder(kept.tree, dirname(path)))) return false
  for (const path of paths) {
    await rm(join(kept.tree, path), { recursive: true, force: true })
    const mode = kept.mayBeChanged ? "copy" : "link"
    cloneTree(join(folder, path), join(kept.tree, path), { mode, owner: kept.user })
  }
  const now = new Date()
  await utimes(folder, now, now)
  return true
}

/** Takes what an install made out of the tree, closes it, and puts it back as any later build gets it. */
export async function keepPackages(kept: KeptPackages, key: string): Promise<void> {
  const paths = await modulesFolders(kept.tree)
  if (paths.length === 0) return
  await mkdir(kept.folder, { recursive: true, mode: 0o750 })
  const partial = join(kept.folder, `${key}.partial`)
  await removeTree(partial)
  for (const path of paths) {
    await mkdir(dirname(join(partial, path)), { recursive: true })
    await rename(join(kept.tree, path), join(partial, path))
  }
  await closeTree(partial, kept.reader)
  await removeTree(join(kept.folder, key))
  await rename(partial, join(kept.folder, key))
  await restorePackages(kept, key)
  await forgetOld(kept.folder)
}

async function forgetOld(folder: string): Promise<void> {
  const names = await readdir(folder)
  const used = await Promise.all(names.map(async (name) => ({ name, at: (await stat(join(folder, name))).mtimeMs })))
  for (const { name } of used.toSorted((a, b) => b.at - a.at).slice(mostKept)) await removeTree(join(folder, name))
}

/** Every `node_modules` that is in no other; links are not followed. Relative to the tree. */
async function modulesFolders(tree: string, folder = ""): Promise<string[]> {
  const entries = await readdir(join(tree, folder), { withFileTypes: true })
  const found = entries.map(async (entry): Promise<string[]> => {
    const path = join(folder, entry.name)
    if (!entry.isDirectory() || entry.name === ".git") return []
    return entry.name === "node_modules" ? [path] : modulesFolders(tree, path)
  })
  return (await Promise.all(found)).flat()
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then((found) => found.isDirectory(), ifCode(missing, false))

/** A link in the tree must not lead us, who may be root, to write elsewhere. */
async function isRealFolder(tree: string, path: string): Promise<boolean> {
  const target = join(await realpath(tree), path)
  return (await isFolder(target)) && (await realpath(target)) === target
}
