/** Small files that other processes read while we write them. */
import { randomUUID } from "node:crypto"
import { link, rename, rm, writeFile } from "node:fs/promises"

/**
 * Writes a file atomically: a reader finds all of it or none, at any moment, after any crash of ours and of the machine. Only we may read it.
 * @param prepare  changes the file's owner or permissions before it is at its place
 */
export async function writeWhole(
  file: string,
  text: string,
  prepare: (partial: string) => Promise<void> = async () => undefined,
): Promise<void> {
  const partial = `${file}.${randomUUID()}.partial`
  try {
    await writeFile(partial, text, { mode: 0o600, flush: true })
    await prepare(partial)
    await rename(partial, file)
  } catch (error) {
    // On a full disk the file is empty, and each try would leave one more.
    await rm(partial, { force: true })
    throw error
  }
}

/** The same for a file that may be there already, which then stays. @returns  false if it was there */
export async function createWhole(file: string, text: string): Promise<boolean> {
  const partial = `${file}.${randomUUID()}.partial`
  try {
    await writeFile(partial, text, { mode: 0o600, flush: true })
    // Unlike a rename, a link does not replace.
    await link(partial, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    return false
  } finally {
    await rm(partial, { force: true })
  }
}
