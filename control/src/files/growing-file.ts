/** Watches a file that another process appends to, and empties it. */
import { closeSync, type FSWatcher, fstatSync, ftruncateSync, openSync, watch } from "node:fs"
import { stat } from "node:fs/promises"
import { basename, dirname } from "node:path"

/**
 * Calls `onChange` when something was appended. Watches the folder, so the file need not exist yet.
 * @returns  a function that stops the watch; undefined when the folder is missing, or the machine allows no more watches:
 *           callers also poll
 */
export const watchFile = (path: string, onChange: () => void): (() => void) | undefined =>
  watchFolder(dirname(path), (changed) => {
    if (changed === null || changed === basename(path)) onChange()
  })

/**
 * Calls `onChange` when a file in a folder was written, created or renamed, with its name where the system reports it.
 * @returns  as `watchFile`
 */
export function watchFolder(folder: string, onChange: (name: string | null) => void): (() => void) | undefined {
  try {
    const watcher: FSWatcher = watch(folder, { persistent: false }, (_, changed) => onChange(changed))
    // As when the machine allows no watch: callers also poll.
    watcher.on("error", () => watcher.close())
    return () => watcher.close()
  } catch (error) {
    if (["ENOENT", "ENOSPC", "EMFILE"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined
    throw error
  }
}

/** A value that changes with the file's content: its time and size. "" when there is no file. */
export async function fileMark(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error
  })
  return found ? `${found.mtimeNs} ${found.size}` : ""
}

/**
 * Empties a file that was read to its end. The writer appends, so it continues at the new end. No other code of this process
 * runs between the size check and the truncation: only what is printed in those microseconds could be lost.
 * @param read  how much of it was read, in bytes
 * @returns     false when it has another size: there is more in it, or somebody else has emptied it. Then it stays
 */
export function clearFile(path: string, read: number): boolean {
  const file = openSync(path, "r+")
  try {
    if (fstatSync(file).size !== read) return false
    ftruncateSync(file, 0)
    return true
  } finally {
    closeSync(file)
  }
}
