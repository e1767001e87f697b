/** The log of a pod, line by line, each with its time. */
import { maxRawBytes } from "@superstep/toolkit/text/clean-lines"
import { nextPieces, type Piece, type Place, readPieces } from "../parts/output/engine-output.js"
import type { UnitLogs } from "../port/port.js"

/** Bytes until an answer of the cluster ends or breaks off, or its request is aborted. @param onBreak  is told why it has no end */
export async function* untilBroken(
  answer: AsyncIterable<Buffer>,
  onBreak: (error: unknown) => void,
): AsyncGenerator<Buffer> {
  try {
    yield* answer
  } catch (error) {
    onBreak(error)
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
  for await (const chunk of log)
    for (let at = 0; at < chunk.length; ) {
      const end = chunk.indexOf(newline, at)
      take(chunk.subarray(at, end === -1 ? chunk.length : end))
      if (end === -1) break
      yield* piecesOf(parts, true)
      ;[parts, bytes, at] = [[], 0, end + 1]
    }
  if (bytes > 0) yield* piecesOf(parts, bytes >= keptBytes)
  return undefined
}

/** Of a line that broke off within its time there is nothing. */
function piecesOf(parts: readonly Buffer[], isWhole: boolean): Piece[] {
  const line = Buffer.concat(isWhole ? [...parts, lineEnd] : parts)
  const space = line.indexOf(0x20)
  if (space === -1) return []
  return [{ time: line.subarray(0, space).toString(), stream: 1, content: line.subarray(space + 1) }]
}

export interface AskedLog {
  readonly from: string
  readonly place: Place
  /** Whether nothing will complete the last line. */
  readonly hasEnded: boolean
}

/** @param log  was asked for from `sinceMs` of the place on. The API counts in whole seconds, so earlier lines may come, too. */
export async function readPodLog(log: AsyncIterable<Buffer>, asked: AskedLog): Promise<UnitLogs> {
  const { pieces, isAll } = await nextPieces(timedLines(log), asked.place)
  return readPieces({ ...asked, hasEnded: asked.hasEnded && isAll }, pieces)
}

/** @param answer  of the cluster: when it breaks off, the line that it broke off in is read again */
export async function readAnswer(answer: AsyncIterable<Buffer>, asked: AskedLog): Promise<UnitLogs> {
  let isBroken = false
  const log = untilBroken(answer, () => {
    isBroken = true
  })
  const { pieces, isAll } = await nextPieces(timedLines(log), asked.place)
  return readPieces({ ...asked, hasEnded: asked.hasEnded && isAll && !isBroken }, pieces)
}

const newline = 0x0a
const lineEnd = Buffer.from("\n")
