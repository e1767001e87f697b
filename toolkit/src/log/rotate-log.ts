/**
 * Limits the size of a log that a process is writing. The process keeps the file open while it lives, so a rename would free
 * nothing: the content is copied to `<path>.1`, replacing the former one, and the file is emptied. This needs a writer that
 * appends (`O_APPEND`), as all of ours do.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs"
import { copyFile, rename, rm, stat } from "node:fs/promises"
import { ifCode } from "../errors/if-code.js"

// With the former part, a log uses at most twice this, plus what is written between two checks.
export const largestLogBytes = 10 * 1024 * 1024

/** @returns  whether the file was larger and is empty now; false also when there is none */
export async function rotateLog(path: string, largestBytes = largestLogBytes): Promise<boolean> {
  const found = await stat(path).catch(ifCode(["ENOENT"]))
  if (found === undefined || found.size <= largestBytes) return false
  const draft = `${path}.1.partial`
  await rm(draft, { force: true })
  await copyFile(path, draft)
  emptyAfterCopy(path, draft)
  await rename(draft, `${path}.1`)
  return true
}

/**
 * Copies what was written during the copy, and empties the file. Without a pause in between: what another process writes in
 * these microseconds is lost, and nothing of this process is.
 */
function emptyAfterCopy(path: string, copy: string): void {
  const from = openSync(path, "r+")
  const to = openSync(copy, "a+")
  try {
    const part = Buffer.alloc(64 * 1024)
    for (let at = fstatSync(to).size; ; ) {
      const read = readSync(from, part, 0, part.length, at)
      if (read === 0) break
      writeSync(to, part, 0, read)
      at += read
    }
    ftruncateSync(from, 0)
  } finally {
    closeSync(from)
    closeSync(to)
  }
}
