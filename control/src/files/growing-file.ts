/** A file that another process appends to: hearing of it, and beginning it anew. */
import { closeSync, type FSWatcher, fstatSync, ftruncateSync, openSync, watch } from "node:fs"
import { stat } from "node:fs/promises"
import { basename, dirname } from "node:path"

/**
 * Calls `onChange` when something was appended. Its folder is what is watched, so the file need not be there yet.
 * @returns a function that ends it; undefined when the folder is not there, or the machine allows no more watches:
 *          whoever needs to know also looks now and then
 */
export const watchFile = (path: string, onChange: () => void): (() => void) | undefined =>
  watchFolder(dirname(path), (changed) => {
    if (changed === null || changed === basename(path)) onChange()
  })

/**
 * Calls `onChange` when a file in a folder was written, made or renamed, with its name where the machine tells it.
 * @returns as `watchFile`
 */
export function watchFolder(folder: string, onChange: (name: string | null) => void): (() => void) | undefined {
  try {
    const watcher: FSWatcher = watch(folder, { persistent: false }, (_, changed) => onChange(changed))
    // As when the machine allows none: who needs to know looks now and then.
    watcher.on("error", () => watcher.close())
    return () => watcher.close()
  } catch (error) {
    if (["ENOENT", "ENOSPC", "EMFILE"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined
    throw error
  }
}

/** A word for what is in a file: its time and size. "" when there is none. */
export async function fileMark(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error
  })
  return found ? `${found.mtimeNs} ${found.size}` : ""
}

/**
 * Empties a file that was read to its end. It is written to by appending, so the writer goes on at the new end. Between
 * the look and the cut nothing else of this process runs: what could be lost is what is printed in those microseconds.
 * @param read  its size as far as it was read
 * @returns     false when there is more in it, which then stays
 */
export function forgetFile(path: string, read: number): boolean {
  const file = openSync(path, "r+")
  try {
    if (fstatSync(file).size > read) return false
    ftruncateSync(file, 0)
    return true
  } finally {
    closeSync(file)
  }
}
