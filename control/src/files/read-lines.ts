/** Reads a growing log file piece by piece. */
import { open } from "node:fs/promises"

// Enough for a burst, little enough to keep in memory; the rest is read next time.
const chunkBytes = 256 * 1024

/**
 * @param from  in bytes; a file that is shorter was begun anew and is read from its start
 * @returns     whole lines, without their ends; a last line that is still being written is left for later
 */
export async function readLines(file: string, from: number): Promise<{ lines: string[]; next: number }> {
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined
    throw error
  })
  if (!handle) return { lines: [], next: 0 }
  try {
    const { size } = await handle.stat()
    const begin = size < from ? 0 : from
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(chunkBytes), position: begin })
    const part = buffer.subarray(0, bytesRead)
    const lastBreak = part.lastIndexOf(10)
    // A line as long as the chunk would never end: it is taken as it is.
    const end = lastBreak === -1 && bytesRead === chunkBytes ? bytesRead : lastBreak + 1
    const text = part.subarray(0, end).toString("utf8")
    return { lines: text === "" ? [] : text.replace(/\n$/, "").split("\n"), next: begin + end }
  } finally {
    await handle.close()
  }
}
