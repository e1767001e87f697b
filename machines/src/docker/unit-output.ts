/** The output of units from the engine, which gives it by time and keeps it until the container is removed. */

import { lifeIdOf, nextPieces, type Piece, type Place, placeIn, readPieces } from "../parts/output/engine-output.js"
import { unreadOutput } from "../parts/output/unread-output.js"
import type { Units } from "../port/port.js"
import type { Containers, FoundContainer } from "./containers.js"
import { type Engine, EngineFailed, untilBroken } from "./engine.js"

export interface UnitOutput extends Pick<Units, "logs" | "watchLogs"> {
  /** Keeps the output of an exited container, which is about to be removed. */
  keep(container: FoundContainer): Promise<void>
}

/** @param folderOf  the folder of a unit */
export function unitOutput(
  { engine, containers }: { readonly engine: Engine; readonly containers: Containers },
  folderOf: (unitId: string) => string,
): UnitOutput {
  const unread = unreadOutput(folderOf)
  // Where the last read of each unit with a container has started: what is before that is stored.
  const asked = new Map<string, string>()
  // Units whose output is followed, and that have printed nothing since it was read up to here.
  const silent = new Map<string, string>()
  const followed = new Map<string, number>()

  /** @returns  undefined when the container is gone */
  const openLog = async (id: string, place: Place) => {
    const query = { stdout: "1", stderr: "1", timestamps: "1", ...sinceOf(place) }
    const response = await engine.stream(`/containers/${id}/logs`, { query, also: [404, 409] })
    if (response.statusCode === 200) return response
    response.resume()
    return undefined
  }
  const logs: Units["logs"] = async (unitId, from) => {
    // The end of a container ends the stream that follows it, and with that its silence.
    const nothing = { lines: [], next: from }
    if (silent.get(unitId) === from) return nothing
    const container = await containers.find(unitId)
    const presentLifeId = container && lifeOf(container)
    const kept = await unread.read(unitId, {
      from,
      presentLifeId,
      mayGrow: false,
      read: async (log, place) => {
        const { pieces, isAll } = await nextPieces(piecesOf(log), place)
        return readPieces({ from, place, hasEnded: isAll }, pieces)
      },
    })
    if (kept) return kept
    if (!container) {
      asked.delete(unitId)
      return nothing
    }
    asked.set(unitId, from)
    if (followed.has(unitId)) silent.set(unitId, from)
    const place = placeIn(lifeOf(container), from)
    const present = await openLog(container.id, place)
    if (!present) return nothing
    const { pieces, isAll } = await nextPieces(piecesOf(untilBroken(present)), place)
    const found = readPieces({ from, place, hasEnded: isAll && container.state !== "running" }, pieces)
    if (silent.get(unitId) === from && isAll) silent.set(unitId, found.next)
    return found
  }
  const keep: UnitOutput["keep"] = async (container) => {
    const { unitId, id } = container
    const lifeId = lifeOf(container)
    const log = await openLog(id, placeIn(lifeId, asked.get(unitId) ?? ""))
    if (log) await unread.keep(unitId, lifeId, log)
    // The stream that follows it may end later: what is kept is read at once.
    followed.delete(unitId)
    silent.delete(unitId)
  }

  const watchLogs: Units["watchLogs"] = async (unitId, onOutput, onEnd) => {
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
      onEnd?.()
      changed()
    }
    // An aborted stream ends with an error, which says nothing new.
    followedStream
      .on("data", changed)
      .on("error", () => undefined)
      .once("close", end)
    return () => stopping.abort()
  }
  return { logs, watchLogs, keep }
}

const lifeOf = ({ createdSeconds, id }: FoundContainer): string => lifeIdOf(String(createdSeconds), id)

const headerBytes = 8

/**
 * The pieces of an engine's answer: a header of eight bytes with the stream and the length, then time, a space and what was printed. Of a
 * long line each part is a piece.
 */
export async function* piecesOf(answer: AsyncIterable<Buffer>): AsyncGenerator<Piece, undefined> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of answer) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    while (at + headerBytes <= bytes.length) {
      const end = at + headerBytes + bytes.readUInt32BE(at + 4)
      if (end > bytes.length) break
      const piece = bytes.subarray(at + headerBytes, end)
      const space = piece.indexOf(0x20)
      const stream = bytes.readUInt8(at)
      at = end
      yield { time: piece.subarray(0, space).toString(), stream, content: piece.subarray(space + 1) }
    }
    rest = bytes.subarray(at)
  }
  return undefined
}

// Five lines of a companion, or what a probe of ours prints.
const mostPrintedBytes = 1024 * 1024

/** What a container has printed, up to a limit. @throws EngineFailed */
export async function printed(answer: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const { content } of piecesOf(untilBroken(answer))) {
    parts.push(content)
    bytes += content.length
    if (bytes >= mostPrintedBytes) break
  }
  return Buffer.concat(parts).toString()
}

/** The engine counts in seconds. Pure. */
export function sinceOf({ sinceMs }: Pick<Place, "sinceMs">): { readonly since?: string } {
  if (sinceMs === undefined) return {}
  return { since: `${Math.floor(sinceMs / 1000)}.${String(sinceMs % 1000).padStart(3, "0")}` }
}
