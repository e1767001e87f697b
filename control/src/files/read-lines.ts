/** Reads a growing log file piece by piece, in bounded memory whatever is in it. */
import { type FileHandle, open } from "node:fs/promises"
import { ifCode } from "@superstep/toolkit/errors/if-code"
import { maxRawBytes } from "../logs/log-line.js"

// A longest line and as much again; the rest is read next time.
const chunkBytes = 2 * maxRawBytes
// Some more than is stored for a deployment unless an operator says otherwise (`SUPERSTEP_LOG_QUOTA_MB`).
const mostBehindBytes = 128 * 1024 * 1024

export interface ReadLines {
  /** Whole lines, without their ends. Of one that is too long the beginning, `maxRawBytes` of it. */
  readonly lines: string[]
  /** Where the next reading begins, in bytes; `from` when there was nothing new. */
  readonly next: number
  /** There is more after `next`: a line that is still being written, or what did not fit. */
  readonly hasMore: boolean
}

/**
 * Where a reading begins tells all: in the middle of a line, that line was too long and its rest is passed over. So it may
 * go on after any crash. Whoever writes to the file may make it as large as they like without writing (`ftruncate`), so of
 * what lies far behind only the end is read, and a line says how much was left out.
 * @param from  in bytes; a file that is shorter was begun anew and is read from its start
 */
export async function readLines(file: string, from: number): Promise<ReadLines> {
  const handle = await open(file).catch(ifCode(["ENOENT"]))
  if (!handle) return { lines: [], next: 0, hasMore: false }
  try {
    const { size } = await handle.stat()
    const begin = size < from ? 0 : from
    const leftOut = Math.max(0, size - begin - mostBehindBytes)
    const start = await lineStart(handle, begin + leftOut, size)
    const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, size - start))
    const { bytesRead } = await handle.read({ buffer, position: start })
    const { lines, used } = splitLines(buffer.subarray(0, bytesRead))
    if (leftOut > 0) lines.unshift(`[${leftOut} bytes of output were left out: it grew faster than it is stored]`)
    return { lines, next: start + used, hasMore: start + used < size }
  } finally {
    await handle.close()
  }
}

const lineBreak = 10

/** @returns `begin` when a line begins there, else the begin of the next line, or the end of the file */
async function lineStart(handle: FileHandle, begin: number, size: number): Promise<number> {
  if (begin === 0) return 0
  const buffer = Buffer.allocUnsafe(64 * 1024)
  // The byte before tells whether a line ended there.
  for (let position = begin - 1; position < size; ) {
    const { bytesRead } = await handle.read({ buffer, position })
    if (bytesRead === 0) return position
    const at = buffer.subarray(0, bytesRead).indexOf(lineBreak)
    if (at !== -1) return position + at + 1
    position += bytesRead
  }
  return size
}

/** Pure. @returns lines and how many bytes they took, ends included */
function splitLines(part: Buffer): { lines: string[]; used: number } {
  const lines: string[] = []
  let begin = 0
  for (;;) {
    const end = part.indexOf(lineBreak, begin)
    if (end === -1) break
    lines.push(text(part.subarray(begin, end)))
    begin = end + 1
  }
  // Longer than a line may be, whatever comes: its beginning is taken, and its rest will be passed over.
  if (part.length - begin < maxRawBytes) return { lines, used: begin }
  return { lines: [...lines, text(part.subarray(begin))], used: part.length }
}

/** Bytes that are no UTF-8 become U+FFFD. */
const text = (bytes: Buffer): string => bytes.subarray(0, maxRawBytes).toString("utf8")
