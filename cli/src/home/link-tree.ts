/** A second name for every file of a tree, so that a backup can read it while the platform removes the first ones. */
import { constants } from "node:fs"
import { chmod, copyFile, lchown, link, lstat, mkdir, readdir, readlink, symlink } from "node:fs/promises"
import { join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { removeTree } from "@superstep/toolkit/files/remove-tree"

/**
 * Links a folder of artifacts. Whoever removes one moves it away first: one that is still in its place when all of it is linked is linked
 * completely. Others are left out.
 */
export async function linkArtifacts(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  for (const name of await readdir(from)) {
    // One that is being removed (`removeArtifact`): an artifact's id has no dot.
    if (name.includes(".")) continue
    const [source, target] = [join(from, name), join(to, name)]
    await linkTree(source, target)
    if (!(await statOf(source))) await removeTree(target)
  }
  await takeRights(from, to)
}

/** Links a file, a folder with all that is in it, or nothing, when it has vanished. Links in it stay links. */
export async function linkTree(from: string, to: string): Promise<void> {
  const found = await statOf(from)
  if (found?.isSymbolicLink()) {
    const target = await readlink(from).catch(ifCode(missing))
    if (target !== undefined) await symlink(target, to)
  } else if (found?.isDirectory()) {
    await mkdir(to, { mode: 0o700 })
    for (const name of await readdir(from).catch(ifCode(missing, []))) await linkTree(join(from, name), join(to, name))
    await takeRights(from, to)
  } else if (found?.isFile()) await linkFile(from, to)
}

// Where a file system has no hard links, or this file has all it may have, or another user owns it.
const noLink = ["ENOTSUP", "ENOSYS", "EMLINK", "EPERM", "EXDEV"]

async function linkFile(from: string, to: string): Promise<void> {
  const copy = (error: NodeJS.ErrnoException) => {
    if (!noLink.includes(error.code ?? "")) throw error
    return copyFile(from, to, constants.COPYFILE_FICLONE)
  }
  await link(from, to).catch(copy).catch(ifCode(missing))
}

/** After it is filled: a folder of an artifact is read-only. */
async function takeRights(from: string, to: string): Promise<void> {
  const found = await statOf(from)
  if (!found) return
  if (process.getuid?.() === 0) await lchown(to, found.uid, found.gid)
  await chmod(to, found.mode & 0o7777)
}

const statOf = (path: string) => lstat(path).catch(ifCode(missing))
