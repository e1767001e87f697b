/** The log of a pod, line by line, each with its time. */
import { maxRawBytes } from "../../logs/log-line.js"
import { type Piece, type Place, readBytes, readPieces } from "../engine-output.js"
import type { UnitLogs } from "../port.js"

/** Bytes until a log ends or breaks off, or its request is aborted: what came counts. */
export async function* untilBroken(log: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* log
  } catch {
    // The next read starts after what came.
  }
}

// A time, and more than is kept of a line.
const keptBytes = maxRawBytes + 64

/** Lines that are longer than a line may be are cut, in bounded memory. The last one may lack its end. */
export async function* timedLines(log: AsyncIterable<Buffer>): AsyncGenerator<Piece, undefined> {
  let parts: Buffer[] = []
  let bytes = 0
  const take = (part: Buffer) => {
    if (bytes < keptBytes) parts.push(part)
    bytes += part.length
  }
  for await (const chunk of untilBroken(log))
    for (let at = 0; at < chunk.length; ) {
      const end = chunk.indexOf(newline, at)
      take(chunk.subarray(at, end === -1 ? chunk.length : end))
      if (end === -1) break
      yield pieceOf(parts, true)
      ;[parts, bytes, at] = [[], 0, end + 1]
    }
  if (bytes > 0) yield pieceOf(parts, bytes >= keptBytes)
  return undefined
}

function pieceOf(parts: readonly Buffer[], isWhole: boolean): Piece {
  const line = Buffer.concat(isWhole ? [...parts, lineEnd] : parts)
  const space = line.indexOf(0x20)
  return { time: line.subarray(0, space).toString(), stream: 1, content: line.subarray(space + 1) }
}

/** @param pieces  of a log that was asked for from `sinceMs` of the place on. The API counts in whole seconds, so earlier ones may come, too. */
export async function readPodLog(
  pieces: AsyncIterable<Piece>,
  asked: { readonly from: string; readonly place: Place; readonly hasEnded: boolean },
): Promise<UnitLogs> {
  const { sinceMs = 0, last } = asked.place
  const found: Piece[] = []
  let bytes = last ? undefined : 0
  for await (const piece of pieces) {
    if (Date.parse(piece.time) < sinceMs) continue
    found.push(piece)
    if (piece.time === last?.time) bytes = 0
    else if (bytes !== undefined) bytes += piece.content.length
    if (bytes !== undefined && bytes >= readBytes) break
  }
  return readPieces(asked, found)
}

const newline = 0x0a
const lineEnd = Buffer.from("\n")
