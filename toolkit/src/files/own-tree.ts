/**
 * Trees that change owner between us, as root, and the user who builds in them. Each function expects that only we may
 * write to the folder that contains the tree. A tree is taken from its root down: once a folder is ours, nobody else can swap
 * what is in it. It is given away from its leaves up, for the same reason. Synchronous, since a build does nothing else
 * meanwhile and a tree has tens of thousands of files.
 */
import { chmodSync, lchownSync, lstatSync, readdirSync, type Stats, unlinkSync } from "node:fs"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import type { OsUser } from "../exec/spawn-detached.js"

/**
 * After this nobody can change the tree; its root itself may still be renamed. Deletes pipes, sockets and devices in it:
 * nobody needs them, and opening one blocks.
 * @param reader  the only user who may read it besides root; null where we are not root, and everybody may
 */
export function closeTree(path: string, reader: OsUser | null): void {
  if (reader) takeTree(path, reader)
  else withdrawWriting(path)
  // To rename a folder one needs write permission on it.
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

/** Gives a tree of ours, which nobody else can change, to another reader. Unlike `closeTree` it keeps hard links between trees. */
export function readableBy(path: string, reader: OsUser): void {
  const found = lstatSync(path)
  lchownSync(path, 0, reader.gid)
  if (found.isSymbolicLink()) return
  chmodSync(path, found.isDirectory() || isExecutable(found) ? 0o750 : 0o640)
  if (found.isDirectory()) for (const name of readdirSync(path)) readableBy(join(path, name), reader)
}

/** A hard link to a file of root's that this user may not read. Kept packages belong to this user's group. */
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

// A large tree is taken in pieces, so that other work of this process goes on.
const takenAtOnce = 500

/**
 * Takes a tree from a user who may still be changing it; nobody but us may write to the folder that contains it, from now on. What is
 * neither a file of that user, a folder nor a link is deleted: a hard link would give away a file of somebody else.
 * @param from  the only user who may own its files, besides us
 */
export async function takeFrom(path: string, from: OsUser): Promise<void> {
  if (!lstatSync(path).isDirectory()) throw new Error(`${path} is no folder`)
  let taken = 0
  const folders = [path]
  for (const folder of folders) {
    lchownSync(folder, 0, 0)
    chmodSync(folder, 0o755)
    for (const name of readdirSync(folder)) {
      const entry = join(folder, name)
      const found = lstatSync(entry)
      taken += 1
      if (found.isDirectory()) folders.push(entry)
      else if (found.isSymbolicLink()) lchownSync(entry, 0, 0)
      else if (!found.isFile() || found.nlink > 1 || ![0, from.uid].includes(found.uid)) unlinkSync(entry)
      else {
        lchownSync(entry, 0, 0)
        chmodSync(entry, isExecutable(found) ? 0o755 : 0o644)
      }
      if (taken % takenAtOnce === 0) await setImmediate()
    }
  }
}

/**
 * Gives a folder and what is in it to a user, also when that user or a former one may be changing it: each folder is ours until all in it is
 * given. A file with several names stays as it is, since another name may be somebody else's.
 */
export function handOver(path: string, owner: OsUser): void {
  const found = lstatSync(path)
  if (found.isDirectory()) {
    lchownSync(path, 0, 0)
    chmodSync(path, 0o700)
    for (const name of readdirSync(path)) handOver(join(path, name), owner)
    chmodSync(path, found.mode & 0o700)
  } else if (!found.isFile() || found.nlink > 1) return
  lchownSync(path, owner.uid, owner.gid)
}

/** Gives a tree of ours to a user. */
export function giveTree(path: string, { uid, gid }: OsUser): void {
  if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) giveTree(join(path, name), { uid, gid })
  lchownSync(path, uid, gid)
}

/**
 * Takes ownership of the folders from `tree` down to `path`, so that work in the last one stays in this tree.
 * @param path  relative to the tree; "." for the tree itself
 * @param user  their owner; null where everything is ours anyway
 * @returns     a function that gives them back; undefined when one of them is no folder, or a link
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
