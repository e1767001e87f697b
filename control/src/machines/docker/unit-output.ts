/**
 * The output of a unit as a file that grows. The engine has the output and gives it by time; a cursor file says which pieces are in our
 * file, and how long our file was then. After a crash between the two writes, the file is cut to that length and read on.
 */
import { appendFile, stat, truncate } from "node:fs/promises"
import { join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { clearFile, fileMark } from "../../files/growing-file.js"
import { readJson, writeJson } from "../../files/json-file.js"
import { readLines } from "../../files/read-lines.js"
import type { UnitLogs } from "../port.js"
import type { Containers } from "./containers.js"
import { bytesOf, type Engine, EngineFailed } from "./engine.js"

interface Cursor {
  readonly taken: Taken
  readonly size: number
}

export interface UnitOutput {
  /** Moves what the engine has into the file. */
  take(unitId: string): Promise<void>
  read(unitId: string, from: number): Promise<UnitLogs>
  mark(unitId: string): Promise<string>
  clear(unitId: string, read: number): Promise<boolean>
  watch(unitId: string, onOutput: () => void): Promise<(() => void) | undefined>
}

/** @param folderOf  the folder of a unit */
export function unitOutput(
  { engine, containers }: { readonly engine: Engine; readonly containers: Containers },
  folderOf: (unitId: string) => string,
): UnitOutput {
  const fileOf = (unitId: string) => join(folderOf(unitId), "out.log")
  const cursorFile = (unitId: string) => join(folderOf(unitId), "output.json")
  const turns = new Map<string, Promise<unknown>>()
  // Units whose output is followed, and that have printed nothing since it was taken.
  const silent = new Set<string>()
  const followed = new Map<string, number>()

  /** One at a time for each unit: a second one would append the same lines. */
  const inTurn = <T>(unitId: string, work: () => Promise<T>): Promise<T> => {
    const done = (turns.get(unitId) ?? Promise.resolve()).then(work)
    const ended = done.then(
      () => undefined,
      () => undefined,
    )
    turns.set(unitId, ended)
    void ended.then(() => turns.get(unitId) === ended && turns.delete(unitId))
    return done
  }

  const takeNow = async (unitId: string): Promise<void> => {
    if (silent.has(unitId)) return
    const container = await containers.find(unitId)
    if (!container) return
    if (followed.has(unitId)) silent.add(unitId)
    const size = (await stat(fileOf(unitId)).catch(ifCode(missing)))?.size ?? 0
    const cursor = (await readJson<Cursor>(cursorFile(unitId))) ?? { taken: nothingTaken, size: 0 }
    if (size > cursor.size) await truncate(fileOf(unitId), cursor.size)
    const query = {
      stdout: "1",
      stderr: "1",
      timestamps: "1",
      ...(cursor.taken.since !== "" && { since: sinceOf(cursor.taken.since) }),
    }
    const response = await engine.stream(`/containers/${container.id}/logs`, { query, also: [404, 409] })
    const all = response.statusCode === 200 ? piecesOf(await bytesOf(response)) : []
    const { fresh, taken } = takeFresh(all, cursor.taken)
    if (fresh.length === 0) return
    const text = Buffer.concat(fresh.map(({ content }) => content))
    await appendFile(fileOf(unitId), text, { mode: 0o600 })
    await writeJson(cursorFile(unitId), {
      taken,
      size: Math.min(size, cursor.size) + text.length,
    } satisfies Cursor)
  }
  const setSize = async (unitId: string): Promise<void> => {
    const cursor = await readJson<Cursor>(cursorFile(unitId))
    const size = (await stat(fileOf(unitId)).catch(ifCode(missing)))?.size ?? 0
    if (cursor) await writeJson(cursorFile(unitId), { ...cursor, size } satisfies Cursor)
  }
  const read = async (unitId: string, from: number): Promise<UnitLogs> => {
    await takeNow(unitId)
    const { hasMore, ...found } = await readLines(fileOf(unitId), from)
    const runs = async () => (await containers.find(unitId))?.state === "running"
    if (found.lines.length > 0 || !hasMore || (await runs())) return found
    // The container has exited, so nothing will complete its last line.
    await appendFile(fileOf(unitId), "\n")
    await setSize(unitId)
    const { lines, next } = await readLines(fileOf(unitId), from)
    return { lines, next }
  }
  const clear = async (unitId: string, read: number): Promise<boolean> => {
    await takeNow(unitId)
    if ((await stat(fileOf(unitId)).catch(ifCode(missing))) === undefined) return true
    const isCleared = clearFile(fileOf(unitId), read)
    if (isCleared) await setSize(unitId)
    return isCleared
  }
  const watch: UnitOutput["watch"] = async (unitId, onOutput) => {
    const container = await containers.find(unitId)
    if (container?.state !== "running") return undefined
    const stopping = new AbortController()
    const query = { follow: "1", stdout: "1", stderr: "1", tail: "0" }
    const followedStream = await engine
      .stream(`/containers/${container.id}/logs`, { query, silenceMs: 0, signal: stopping.signal })
      .catch((error: unknown) => {
        if (!(error instanceof EngineFailed)) throw error
      })
    if (!followedStream) return undefined
    followed.set(unitId, (followed.get(unitId) ?? 0) + 1)
    const changed = () => {
      silent.delete(unitId)
      onOutput()
    }
    const end = () => {
      const left = (followed.get(unitId) ?? 1) - 1
      if (left > 0) followed.set(unitId, left)
      else followed.delete(unitId)
      changed()
    }
    // An aborted stream ends with an error, which says nothing new.
    followedStream
      .on("data", changed)
      .on("error", () => undefined)
      .once("close", end)
    return () => stopping.abort()
  }
  return {
    take: (unitId) => inTurn(unitId, () => takeNow(unitId)),
    read: (unitId, from) => inTurn(unitId, () => read(unitId, from)),
    mark: (unitId) =>
      inTurn(unitId, async () => {
        await takeNow(unitId)
        return fileMark(fileOf(unitId))
      }),
    clear: (unitId, size) => inTurn(unitId, () => clear(unitId, size)),
    watch,
  }
}

export interface Piece {
  /** As the engine writes it, with nanoseconds, so that texts compare as times do. */
  readonly time: string
  /** 1 is stdout, 2 is stderr. */
  readonly stream: number
  readonly content: Buffer
}

const headerBytes = 8

/**
 * The pieces of an engine's answer: a header of eight bytes with the stream and the length, then time, a space and what was printed. Of a
 * long line each part is a piece. Pure.
 */
export function piecesOf(bytes: Buffer): Piece[] {
  const pieces: Piece[] = []
  for (let at = 0; at + headerBytes <= bytes.length; ) {
    const stream = bytes.readUInt8(at)
    const length = bytes.readUInt32BE(at + 4)
    const piece = bytes.subarray(at + headerBytes, at + headerBytes + length)
    at += headerBytes + length
    const space = piece.indexOf(0x20)
    pieces.push({ time: piece.subarray(0, space).toString(), stream, content: piece.subarray(space + 1) })
  }
  return pieces
}

/** Which pieces of the engine are in our file: all before a time, and from that time on as many as are counted for each time. */
export interface Taken {
  readonly since: string
  readonly counts: Readonly<Record<string, number>>
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

/** As seconds with nanoseconds. Pure. */
export function sinceOf(time: string): string {
  const [, fraction = "0"] = /\.(\d+)Z$/.exec(time) ?? []
  return `${Math.floor(Date.parse(time) / 1000)}.${fraction.padEnd(9, "0")}`
}
