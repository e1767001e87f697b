/**
 * Trees that change hands between us, as root, and the user who builds in them. Each function expects that only we may
 * write to the folder that the tree is in. A tree is taken from its root down: once a folder is ours, nobody else can swap
 * what is in it. It is given away from its leaves up, for the same reason. Synchronous, since a build does nothing else
 * meanwhile and a tree has ten thousands of files.
 */
import { chmodSync, lchownSync, lstatSync, readdirSync, type Stats, unlinkSync } from "node:fs"
import { join } from "node:path"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"

/**
 * From now on nobody changes the tree; its root itself may still be renamed. Pipes, sockets and devices in it are deleted:
 * nobody needs them, and whoever opens one waits.
 * @param reader  who alone may read it besides root; null where there is no root, and everybody may
 */
export function closeTree(path: string, reader: OsUser | null): void {
  if (reader) takeTree(path, reader)
  else withdrawWriting(path)
  // A folder is renamed by who may write to it.
  chmodSync(path, lstatSync(path).mode | 0o200)
}

function takeTree(path: string, reader: OsUser): void {
  const found = lstatSync(path)
  if (found.isDirectory()) {
    lchownSync(path, 0, reader.gid)
    chmodSync(path, 0o750)
    for (const name of readdirSync(path)) takeTree(join(path, name), reader)
  } else if (found.isSymbolicLink()) lchownSync(path, 0, reader.gid)
  else if (!found.isFile() || isForeign(found, reader)) unlinkSync(path)
  else {
    lchownSync(path, 0, reader.gid)
    chmodSync(path, isExecutable(found) ? 0o750 : 0o640)
  }
}

/** A second name of a file of root's that is not this user's to read; kept packages are. */
const isForeign = ({ uid, gid, nlink }: Stats, reader: OsUser): boolean => uid === 0 && nlink > 1 && gid !== reader.gid

const isExecutable = ({ mode }: Stats): boolean => (mode & 0o111) !== 0

function withdrawWriting(path: string): void {
  const found = lstatSync(path)
  if (found.isSymbolicLink()) return
  if (found.isDirectory()) {
    chmodSync(path, 0o700)
    for (const name of readdirSync(path)) withdrawWriting(join(path, name))
  }
  if (found.isDirectory() || found.isFile()) chmodSync(path, found.mode & 0o555)
  else unlinkSync(path)
}

/** Gives a tree that is ours to a user. */
export function giveTree(path: string, { uid, gid }: OsUser): void {
  if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) giveTree(join(path, name), { uid, gid })
  lchownSync(path, uid, gid)
}

/**
 * Takes the folders from `tree` down to `path`, so that what is done in the last one is done in this tree.
 * @param path  relative to the tree; "." for the tree itself
 * @param user  whose they are; null where all is ours anyway
 * @returns     gives them back; undefined when one of them is no folder, or a link
 */
export function takeFolders(tree: string, path: string, user: OsUser | null): (() => void) | undefined {
  const taken: { readonly folder: string; readonly mode: number }[] = []
  const giveBack = () => {
    for (const { folder, mode } of taken.toReversed()) {
      chmodSync(folder, mode & 0o777)
      if (user) lchownSync(folder, user.uid, user.gid)
    }
  }
  let folder = tree
  for (const name of ["", ...path.split("/").filter((part) => part !== "" && part !== ".")]) {
    folder = join(folder, name)
    const found = lstatSync(folder, { throwIfNoEntry: false })
    if (!found?.isDirectory()) {
      giveBack()
      return undefined
    }
    if (user) lchownSync(folder, 0, 0)
    chmodSync(folder, 0o700)
    taken.push({ folder, mode: found.mode })
  }
  return giveBack
}
