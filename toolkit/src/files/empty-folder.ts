/** Creates a folder of another user. */
import { lchown, mkdir } from "node:fs/promises"
import type { OsUser } from "../exec/spawn-detached.js"
import { removeTree } from "./remove-tree.js"

/**
 * Creates an empty folder, in place of what was there.
 * @param path   only we may write to the folder that contains it, which exists
 * @param owner  null: ours
 */
export async function makeEmptyFolder(path: string, owner: OsUser | null): Promise<void> {
  await removeTree(path)
  await mkdir(path, { mode: 0o700 })
  if (owner) await lchown(path, owner.uid, owner.gid)
}
