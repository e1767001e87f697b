/**
 * The socket of a unit in a container. The unit creates it in a folder of its own, which the container may change at any time. So edge and
 * control plane never connect there: the socket gets a second name (a hard link) in our folder, and we check that the link is a socket.
 * Whatever the container does to its own name later, ours leads to the same socket.
 */
import { randomUUID } from "node:crypto"
import { chmod, lchown, link, lstat, mkdir, readdir, rename, rm } from "node:fs/promises"
import { basename, join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { type MachineFolders, unitSocket } from "../parts/files/folders.js"
import { inside } from "./container.js"

export interface UnitSocket {
  /** For the container. */
  readonly folder: string
  /** Before a start: removes the sockets of a former life. */
  prepare(): Promise<void>
  /** @returns  whether it has its second name now */
  publish(): Promise<boolean>
  remove(): Promise<void>
}

/**
 * @param owner  who creates the socket
 * @param group  whose processes may connect, besides our own user
 */
export function socketOf(
  folders: Pick<MachineFolders, "unitSockets">,
  unitId: string,
  { owner, group }: { readonly owner: OsUser; readonly group: number | undefined },
): UnitSocket {
  const path = unitSocket(folders, unitId)
  // Beside it: a link works on one file system only.
  const folder = path.replace(/\.sock$/, ".own")
  const isRoot = process.getuid?.() === 0

  /** Also names that a process left behind when it was killed. */
  const removeNames = async () => {
    const names = await readdir(folders.unitSockets).catch(ifCode(missing, []))
    const ours = names.filter((name) => name === basename(path) || name.startsWith(`${basename(path)}.`))
    for (const name of ours) await rm(join(folders.unitSockets, name), { force: true })
  }
  const prepare = async () => {
    await removeNames()
    await mkdir(folder, { recursive: true })
    await chmod(folder, 0o700)
    for (const name of await readdir(folder)) await removeTree(join(folder, name))
    if (isRoot) await lchown(folder, owner.uid, owner.gid)
  }
  const publish = async () => {
    if (await isThere(path)) return true
    // A start and a look at the status may do this at the same time.
    const linked = `${path}.${randomUUID()}`
    if (!(await link(join(folder, basename(inside.socket)), linked).then(() => true, ifCode(missing, false))))
      return false
    try {
      const found = await lstat(linked)
      // A link of the container would lead to somebody else's socket. Root owns it when a process was killed before it renamed its name.
      if (!found.isSocket() || (found.uid !== owner.uid && found.uid !== 0)) return false
      if (isRoot) await lchown(linked, 0, group ?? 0)
      await chmod(linked, group === undefined ? 0o600 : 0o660)
      await rename(linked, path)
      return true
    } finally {
      await rm(linked, { force: true })
    }
  }
  const remove = async () => {
    await removeNames()
    await removeTree(folder)
  }
  return { folder, prepare, publish, remove }
}

const isThere = (path: string): Promise<boolean> => lstat(path).then(() => true, ifCode(missing, false))
