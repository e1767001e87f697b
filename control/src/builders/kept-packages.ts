/**
 * What installs of a deployment made, by their key, so that the same lock file is not installed again. K1 What is kept
 * is complete: it appears by rename. K2 Nothing that a build runs may change it: commands that may write into packages
 * get copies, and under root the files are ours. K3 It belongs to one deployment, since its install scripts made it.
 */
import { mkdir, readdir, rename, stat, utimes } from "node:fs/promises"
import { dirname, join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { closeTree, takeFolders } from "../files/own-tree.js"
import { removeTree } from "../files/remove-tree.js"
import { cloneTree } from "./clone-tree.js"

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
  const mode = kept.mayBeChanged ? "copy" : "link"
  for (const path of await modulesFolders(folder)) {
    const isDone = await inOwnFolder(kept, path, async (target) => {
      await removeTree(target)
      cloneTree(join(folder, path), target, { mode, owner: kept.user })
    })
    if (!isDone) return false
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
    const isMoved = await inOwnFolder(kept, path, (source) => rename(source, join(partial, path)))
    if (!isMoved) throw new Error(`${dirname(path)} was replaced by a link while the packages in it were kept`)
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

/**
 * Works on something in the tree while nobody else can change the folder that it is in: a link in the tree must not lead
 * us, who may be root, to write elsewhere.
 * @returns false when that folder is not there, or is behind a link
 */
async function inOwnFolder(
  { tree, user }: KeptPackages,
  path: string,
  work: (target: string) => Promise<void>,
): Promise<boolean> {
  const giveBack = takeFolders(tree, dirname(path), user)
  if (!giveBack) return false
  try {
    await work(join(tree, path))
  } finally {
    giveBack()
  }
  return true
}
