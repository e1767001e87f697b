/** A file that another user may read besides us. */
import { chmod, lchown } from "node:fs/promises"
import type { OsUser } from "../exec/spawn-detached.js"
import { writeWhole } from "./whole-file.js"

/**
 * Writes a file atomically.
 * @param reader  a user whose group may read it; undefined for nobody but us
 */
export const writeShared = (file: string, text: string, reader: OsUser | undefined): Promise<void> =>
  writeWhole(file, text, async (partial) => {
    if (!reader) return
    await lchown(partial, 0, reader.gid)
    await chmod(partial, 0o640)
  })
