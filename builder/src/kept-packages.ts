/**
 * Keeps the packages that installs of a deployment produced, by key, so that the same lock file is not installed again.
 * K1 Kept packages are complete: they appear by rename. K2 Nothing that a build runs may change them: commands that may
 * write into packages get copies, and under root the files are ours. K3 They belong to one deployment, since its install
 * scripts produced them.
 */
import { mkdir, readdir, rename, stat, utimes } from "node:fs/promises"
import { dirname, join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { closeTree, takeFolders } from "@superstep/toolkit/files/own-tree"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { cloneTree } from "./clone-tree.js"
import { venvName } from "./python/plan-python.js"

export interface KeptPackages {
  /** Contains a folder for each key. */
  readonly folder: string
  readonly tree: string
  /** The user who builds, and the one who reads the artifact. */
  readonly user: OsUser | null
  readonly reader: OsUser | null
  /** Whether a command that may write into packages runs after the install. */
  readonly mayBeChanged: boolean
}

// Room for the main branch, a branch or two, and the state before an upgrade.
const mostKept = 3

/** Restores the packages of a former install into the tree. @returns  false when there are none */
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

/** Moves the packages of an install out of the tree, makes them read-only, and restores them as for any later build. */
export async function keepPackages(kept: KeptPackages, key: string): Promise<void> {
  const paths = await modulesFolders(kept.tree)
  if (paths.length === 0) return
  await mkdir(kept.folder, { recursive: true, mode: 0o750 })
  const partial = join(kept.folder, `${key}.partial`)
  await removeTree(partial)
  for (const path of paths) {
    await mkdir(dirname(join(partial, path)), { recursive: true })
    const isMoved = await inOwnFolder(kept, path, (source) => rename(source, join(partial, path)))
    if (!isMoved) throw new Error(`${dirname(path)} was replaced by a link while its packages were being stored`)
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

/** All outermost `node_modules` folders, relative to the tree. Links are not followed. */
async function modulesFolders(tree: string, folder = ""): Promise<string[]> {
  const entries = await readdir(join(tree, folder), { withFileTypes: true })
  const found = entries.map(async (entry): Promise<string[]> => {
    const path = join(folder, entry.name)
    if (!entry.isDirectory() || isOutside(entry.name)) return []
    return entry.name === "node_modules" ? [path] : modulesFolders(tree, path)
  })
  return (await Promise.all(found)).flat()
}

/** Packages in an environment of Python belong to it. */
const isOutside = (name: string): boolean => name === ".git" || name === venvName

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then((found) => found.isDirectory(), ifCode(missing, false))

/**
 * Works in a folder of the tree while nobody else can change that folder: we may be root, and a link in the tree must not
 * make us write elsewhere.
 * @returns  false when that folder is missing, or behind a link
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
