/**
 * The output of units as files that grow, for machines whose engine has the output and gives it by time. A cursor file says which pieces are
 * in a unit's file, and how long the file was then. After a crash between the two writes, the file is cut to that length and read on.
 */
import { appendFile, mkdir, stat, truncate } from "node:fs/promises"
import { join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { clearFile, fileMark } from "../files/growing-file.js"
import { readJson, writeJson } from "../files/json-file.js"
import { readLines } from "../files/read-lines.js"
import type { Units } from "./port.js"

export interface Piece {
  /** As the engine writes it, with nanoseconds, so that texts compare as times do. */
  readonly time: string
  /** 1 is stdout, 2 is stderr. */
  readonly stream: number
  readonly content: Buffer
}

/** Which pieces of the engine are in our file: all before a time, and from that time on as many as are counted for each time. */
export interface Taken {
  readonly since: string
  readonly counts: Readonly<Record<string, number>>
}

interface Cursor {
  readonly taken: Taken
  readonly size: number
  /** Whose output was read, where each life of a unit has an output of its own. */
  readonly lifeId?: string | undefined
}

export interface OutputFilesPlace {
  folderOf(unitId: string): string
  /**
   * Appends what the engine has and the file lacks; called in the unit's turn.
   * @returns  whether the unit ran when the engine was asked: its last line may still go on
   */
  take(unitId: string): Promise<boolean>
}

export interface OutputFiles extends Pick<Units, "logs" | "logMark" | "clearLogs"> {
  /** One at a time for each unit: a second one would append the same pieces. */
  inTurn<T>(unitId: string, work: () => Promise<T>): Promise<T>
  /** What is in the file of this life's output. */
  taken(unitId: string, lifeId?: string): Promise<Taken>
  /** @returns  what is in the file now */
  append(unitId: string, pieces: readonly Piece[], lifeId?: string): Promise<Taken>
}

export function outputFiles({ folderOf, take }: OutputFilesPlace): OutputFiles {
  const fileOf = (unitId: string) => join(folderOf(unitId), "out.log")
  const cursorFile = (unitId: string) => join(folderOf(unitId), "output.json")
  const turns = new Map<string, Promise<unknown>>()

  const inTurn: OutputFiles["inTurn"] = (unitId, work) => {
    const done = (turns.get(unitId) ?? Promise.resolve()).then(work)
    const ended = done.then(
      () => undefined,
      () => undefined,
    )
    turns.set(unitId, ended)
    void ended.then(() => turns.get(unitId) === ended && turns.delete(unitId))
    return done
  }
  const sizeOf = async (unitId: string) => (await stat(fileOf(unitId)).catch(ifCode(missing)))?.size
  const cursorOf = async (unitId: string, lifeId: string | undefined): Promise<Cursor> => {
    const stored = await readJson<Cursor>(cursorFile(unitId))
    return stored && stored.lifeId === lifeId ? stored : { taken: nothingTaken, size: stored?.size ?? 0, lifeId }
  }
  const setSize = async (unitId: string): Promise<void> => {
    const cursor = await readJson<Cursor>(cursorFile(unitId))
    if (cursor) await writeJson(cursorFile(unitId), { ...cursor, size: (await sizeOf(unitId)) ?? 0 } satisfies Cursor)
  }

  const append: OutputFiles["append"] = async (unitId, pieces, lifeId) => {
    const cursor = await cursorOf(unitId, lifeId)
    const { fresh, taken } = takeFresh(pieces, cursor.taken)
    if (fresh.length === 0) return cursor.taken
    await mkdir(folderOf(unitId), { recursive: true })
    const size = (await sizeOf(unitId)) ?? 0
    if (size > cursor.size) await truncate(fileOf(unitId), cursor.size)
    const text = Buffer.concat(fresh.map(({ content }) => content))
    await appendFile(fileOf(unitId), text, { mode: 0o600 })
    const written = Math.min(size, cursor.size) + text.length
    await writeJson(cursorFile(unitId), { taken, size: written, lifeId } satisfies Cursor)
    return taken
  }
  const read = async (unitId: string, from: number) => {
    const goesOn = await take(unitId)
    const { hasMore, ...found } = await readLines(fileOf(unitId), from)
    if (found.lines.length > 0 || !hasMore || goesOn) return found
    // It has ended, so nothing will complete its last line.
    await appendFile(fileOf(unitId), "\n")
    await setSize(unitId)
    const { lines, next } = await readLines(fileOf(unitId), from)
    return { lines, next }
  }
  const mark = async (unitId: string): Promise<string> => {
    await take(unitId)
    return fileMark(fileOf(unitId))
  }
  const clear = async (unitId: string, size: number): Promise<boolean> => {
    await take(unitId)
    if ((await sizeOf(unitId)) === undefined) return true
    const isCleared = clearFile(fileOf(unitId), size)
    if (isCleared) await setSize(unitId)
    return isCleared
  }
  return {
    inTurn,
    taken: async (unitId, lifeId) => (await cursorOf(unitId, lifeId)).taken,
    append,
    logs: (unitId, from) => inTurn(unitId, () => read(unitId, from)),
    logMark: (unitId) => inTurn(unitId, () => mark(unitId)),
    clearLogs: (unitId, size) => inTurn(unitId, () => clear(unitId, size)),
  }
}

export const nothingTaken: Taken = { since: "", counts: {} }

// While a line of one stream is incomplete, a chatty program prints on the other one: beyond this, the rest of that line is given up.
const mostCountedTimes = 1000

/**
 * The pieces that our file lacks. The engine gives all parts of a long line the time of the first one: what comes later may have the time of
 * a piece that is in our file, or a time before it. Pure.
 * @param pieces  of the engine, from `taken.since` on and with those of that time
 */
export function takeFresh(
  pieces: readonly Piece[],
  taken: Taken,
): { readonly fresh: readonly Piece[]; readonly taken: Taken } {
  const counts = new Map<string, number>()
  const fresh = pieces.filter(({ time }) => {
    const count = (counts.get(time) ?? 0) + 1
    counts.set(time, count)
    return count > (taken.counts[time] ?? 0)
  })
  // Parts of the same line, or the next line, of each stream follow its last piece.
  const ends = new Map(pieces.map((piece) => [piece.stream, piece]))
  const open = [...ends.values()].filter(({ content }) => content.at(-1) !== newline).map(({ time }) => time)
  const newest = [...counts.keys()].toSorted().slice(-mostCountedTimes)
  const [since = newest.at(-1) ?? taken.since] = open.filter((time) => newest.includes(time)).toSorted()
  const kept = newest.filter((time) => time >= since)
  return { fresh, taken: { since, counts: Object.fromEntries(kept.map((time) => [time, counts.get(time) ?? 0])) } }
}

const newline = 0x0a
