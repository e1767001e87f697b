/** Small files that other processes read while we write them. */
import { randomUUID } from "node:crypto"
import { chmod, lchown, rename, rm, writeFile } from "node:fs/promises"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"

/**
 * Writes a file so that a reader finds all of it or none, at any moment and after any crash of ours.
 * @param reader  who may read it besides us: it is given to this user's group; nobody else unless told
 */
export async function writeWhole(file: string, text: string, reader?: OsUser): Promise<void> {
  const partial = `${file}.${randomUUID()}.partial`
  try {
    await writeFile(partial, text, { mode: 0o600 })
    if (reader) {
      await lchown(partial, 0, reader.gid)
      await chmod(partial, 0o640)
    }
    await rename(partial, file)
  } catch (error) {
    // A full disk makes an empty file, and each try would make one more.
    await rm(partial, { force: true })
    throw error
  }
}
