/** Reads a growing log file piece by piece, in bounded memory whatever is in it. */
import { type FileHandle, open } from "node:fs/promises"
import { ifCode } from "../errors/if-code.js"
import { maxRawBytes } from "../text/clean-lines.js"

// Twice the longest line; the rest is read next time.
const chunkBytes = 2 * maxRawBytes

export interface ReadLines {
  /** Whole lines, without their ends. Of a line that is too long, its first `maxRawBytes`. */
  readonly lines: string[]
  /** Where the next read starts, in bytes; `from` when there was nothing new. */
  readonly next: number
  /** There is more after `next`: a line that is still being written, or more than fits into one read. */
  readonly hasMore: boolean
}

/**
 * The start of a read is all the state: in the middle of a line, that line was too long and its rest is skipped. So reading
 * may resume after any crash.
 * @param from  in bytes; a file that is shorter was emptied and is read from its start
 */
export async function readLines(file: string, from: number): Promise<ReadLines> {
  const handle = await open(file).catch(ifCode(["ENOENT"]))
  if (!handle) return { lines: [], next: 0, hasMore: false }
  try {
    const { size } = await handle.stat()
    const begin = size < from ? 0 : from
    const start = await lineStart(handle, begin, size)
    const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, size - start))
    const { bytesRead } = await handle.read({ buffer, position: start })
    const { lines, used } = splitLines(buffer.subarray(0, bytesRead))
    return { lines, next: start + used, hasMore: start + used < size }
  } finally {
    await handle.close()
  }
}

const lineBreak = 10

/** @returns  `begin` when a line starts there, else the start of the next line, or the end of the file */
async function lineStart(handle: FileHandle, begin: number, size: number): Promise<number> {
  if (begin === 0) return 0
  const buffer = Buffer.allocUnsafe(64 * 1024)
  // The byte before shows whether a line ended there.
  for (let position = begin - 1; position < size; ) {
    const { bytesRead } = await handle.read({ buffer, position })
    if (bytesRead === 0) return position
    const at = buffer.subarray(0, bytesRead).indexOf(lineBreak)
    if (at !== -1) return position + at + 1
    position += bytesRead
  }
  return size
}

/** Pure. @returns  lines, and the bytes they used, line ends included */
function splitLines(part: Buffer): { lines: string[]; used: number } {
  const lines: string[] = []
  let begin = 0
  for (;;) {
    const end = part.indexOf(lineBreak, begin)
    if (end === -1) break
    lines.push(lineText(part.subarray(begin, end)))
    begin = end + 1
  }
  // Longer than a line may be, whatever follows: its start is returned, and its rest will be skipped.
  if (part.length - begin < maxRawBytes) return { lines, used: begin }
  return { lines: [...lines, lineText(part.subarray(begin))], used: part.length }
}

/** Bytes that are no UTF-8 become U+FFFD. */
export const lineText = (bytes: Buffer): string => bytes.subarray(0, maxRawBytes).toString("utf8")
