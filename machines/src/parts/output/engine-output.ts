/**
 * The output of units on machines whose engine keeps it, and gives it by time (docker and kubernetes). Nothing is kept here: where the next
 * read starts is all the state, and whoever stores the lines stores that with them. Pure.
 */

import { lineText } from "@superstep/toolkit/files/read-lines"
import { maxRawBytes } from "@superstep/toolkit/text/clean-lines"
import type { UnitLogs } from "../../port/port.js"

export interface Piece {
  /** As the engine writes it, with nanoseconds, so that texts compare as times do. */
  readonly time: string
  /** 1 is stdout, 2 is stderr. */
  readonly stream: number
  /** A line with its end, or a part of one. */
  readonly content: Buffer
}

/** Up to where the output of one life of a unit was read: to a piece, in the order of the engine. */
export interface Place {
  /** Each life has an output of its own. Made by `lifeIdOf`. */
  readonly lifeId: string
  /** The engine gives all that was not read, and the last piece that was, when it is asked for pieces from this time on; in milliseconds. */
  readonly sinceMs?: number
  /** Of the last piece that was read, and how many pieces with the same time were. */
  readonly last?: { readonly time: string; readonly count: number }
  /** The newest time that was read. */
  readonly newest?: string
  /** The last line was longer than a line may be: its rest is still to be skipped. */
  readonly isInLine?: boolean
}

/** @param started  of the engine; texts of the same length compare as times do */
export const lifeIdOf = (started: string, id: string): string => `${started}_${id}`

/** Whether one life was over before the other one started, as far as can be seen. */
export const isBefore = (one: string, other: string): boolean => startOf(one) < startOf(other)

const startOf = (lifeId: string): string => lifeId.split("_", 1)[0] ?? ""

/**
 * @param from  of a read; "" before the first one
 * @returns     undefined when this machine did not write it: before the first read, or of a release that counted bytes
 */
export const placeOf = (from: string): Place | undefined => (from.startsWith("{") ? JSON.parse(from) : undefined)

/** Where to read the output of a life from, after a read that may be of a former one. */
export function placeIn(lifeId: string, from: string): Place {
  const place = placeOf(from)
  return place?.lifeId === lifeId ? place : { lifeId }
}

/**
 * The pieces after a place. Without the last piece that was read, the engine has dropped that one, or its answer broke off before: then those
 * are new that are newer than all that was read.
 */
function after({ last, newest = "" }: Place, pieces: readonly Piece[]): readonly Piece[] {
  if (!last) return pieces
  let count = 0
  let at = -1
  for (const [index, { time }] of pieces.entries()) {
    if (time !== last.time || count === last.count) continue
    count += 1
    at = index
  }
  return at === -1 ? pieces.filter(({ time }) => time > newest) : pieces.slice(at + 1)
}

// Pieces of two streams may come a little later than their times say.
const lateMs = 1000
// While a line of one stream is incomplete, a chatty program prints on the other one: beyond this, the rest of that line is given up.
const mostWhileOpen = 1000
// As much as one read of a file gives.
const readBytes = 2 * maxRawBytes

/**
 * Enough pieces for one read; the others are not read.
 * @param pieces  in the order of the engine; some may be from before the place
 */
export async function nextPieces(
  pieces: AsyncIterable<Piece>,
  { sinceMs = 0, last, newest = "" }: Place,
): Promise<{ readonly pieces: Piece[]; readonly isAll: boolean }> {
  const found: Piece[] = []
  let [bytes, isNew] = [0, last === undefined]
  for await (const piece of pieces) {
    if (Date.parse(piece.time) < sinceMs) continue
    found.push(piece)
    if (piece.time === last?.time) [bytes, isNew] = [0, true]
    // The engine may have dropped the last one that was read: then those that are newer than all that was read are new.
    else if (isNew || piece.time > newest) bytes += piece.content.length
    if (bytes >= readBytes) return { pieces: found, isAll: false }
  }
  return { pieces: found, isAll: true }
}

/**
 * @param from      the place from which the pieces were asked for, as text
 * @param pieces    of the engine, in its order, from `sinceMs` of the place on
 * @param hasEnded  whether nothing will complete the last line
 */
export function readPieces(
  { from, place, hasEnded }: { readonly from: string; readonly place: Place; readonly hasEnded: boolean },
  pieces: readonly Piece[],
): UnitLogs {
  const fresh = after(place, pieces)
  const lines: string[] = []
  let isInLine = place.isInLine === true
  let open: Buffer[] = []
  let [openBytes, bytes, read] = [0, 0, 0]
  const endLine = (count: number) => {
    if (!isInLine) lines.push(lineText(Buffer.concat(open)))
    bytes += openBytes
    ;[open, openBytes, read] = [[], 0, count]
  }
  for (const [index, { content }] of fresh.entries()) {
    if (bytes >= readBytes) break
    const isEnd = content.at(-1) === newline
    open.push(isEnd ? content.subarray(0, -1) : content)
    openBytes += content.length
    if (!isEnd && !isInLine && openBytes < maxRawBytes) continue
    endLine(index + 1)
    isInLine = !isEnd
  }
  if (hasEnded && bytes < readBytes && open.length > 0) endLine(fresh.length)
  if (read === 0) return { lines, next: from }
  const all = pieces.slice(0, pieces.indexOf(fresh[read - 1] as Piece) + 1)
  return { lines, next: JSON.stringify({ ...endOf(place.lifeId, all), ...(isInLine && { isInLine }) } satisfies Place) }
}

function endOf(lifeId: string, read: readonly Piece[]): Place {
  const { time = "" } = read.at(-1) ?? {}
  const count = read.filter((piece) => piece.time === time).length
  const newest = read.reduce((found, piece) => (piece.time > found ? piece.time : found), "")
  // All parts of a long line have the time of the first one, so the rest of a line may have an older time than what was read.
  const ends = new Map(read.slice(-mostWhileOpen).map((piece) => [piece.stream, piece]))
  const open = [...ends.values()].filter(({ content }) => content.at(-1) !== newline)
  const needed = [time, ...open.map((piece) => piece.time)].map((it) => Date.parse(it))
  return { lifeId, sinceMs: Math.min(Date.parse(newest) - lateMs, ...needed), last: { time, count }, newest }
}

const newline = 0x0a
