/** Watches a file that another process appends to, and removes its start. */
import { appendFileSync, closeSync, type FSWatcher, fstatSync, ftruncateSync, openSync, readSync, watch } from "node:fs"
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

// What `cutFile` keeps is copied, and nothing else runs meanwhile.
export const mostKeptBytes = 8 * 1024 * 1024
const lineBreak = 10

/**
 * Removes the start of a file: what is before `from`, and of a large rest all but its last `mostKeptBytes`, which begins with a line that
 * says how much was left out. The writer appends, so it continues at the new end: what it prints in the microseconds between the last
 * read and the truncation could be lost.
 */
export function cutFile(path: string, from: number): void {
  const file = openSync(path, "r+")
  try {
    const { size } = fstatSync(file)
    const begin = Math.min(from, size)
    const leftOut = Math.max(0, size - begin - mostKeptBytes)
    const rest = linesFrom(file, begin + leftOut)
    ftruncateSync(file, 0)
    const notice = leftOut > 0 ? `[${leftOut} bytes of output were left out: it grew faster than it is stored]\n` : ""
    appendFileSync(path, Buffer.concat([Buffer.from(notice), rest]))
  } finally {
    closeSync(file)
  }
}

/** From the first line that starts there or later. */
function linesFrom(file: number, position: number): Buffer {
  // The byte before shows whether a line ended there.
  const before = position === 0 ? 0 : 1
  const parts: Buffer[] = []
  for (let at = position - before; ; ) {
    const part = Buffer.allocUnsafe(1024 * 1024)
    const read = readSync(file, part, 0, part.length, at)
    if (read === 0) break
    parts.push(part.subarray(0, read))
    at += read
  }
  const bytes = Buffer.concat(parts)
  if (before === 0) return bytes
  const end = bytes.indexOf(lineBreak)
  return end === -1 ? Buffer.alloc(0) : bytes.subarray(end + 1)
}
