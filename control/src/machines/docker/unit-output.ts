/** The output of units from the engine, which gives it by time. */

import { outputFiles, type Piece } from "../output-files.js"
import type { Units } from "../port.js"
import type { Containers } from "./containers.js"
import { bytesOf, type Engine, EngineFailed } from "./engine.js"

export interface UnitOutput extends Pick<Units, "logs" | "logMark" | "clearLogs" | "watchLogs"> {
  /** Moves what the engine has into the file. */
  take(unitId: string): Promise<unknown>
}

/** @param folderOf  the folder of a unit */
export function unitOutput(
  { engine, containers }: { readonly engine: Engine; readonly containers: Containers },
  folderOf: (unitId: string) => string,
): UnitOutput {
  // Units whose output is followed, and that have printed nothing since it was taken.
  const silent = new Set<string>()
  const followed = new Map<string, number>()

  const takeNow = async (unitId: string): Promise<boolean> => {
    // The end of a container ends the stream that follows it, and with that its silence.
    if (silent.has(unitId)) return true
    const container = await containers.find(unitId)
    if (!container) return false
    if (followed.has(unitId)) silent.add(unitId)
    const { since } = await files.taken(unitId)
    const query = { stdout: "1", stderr: "1", timestamps: "1", ...(since !== "" && { since: sinceOf(since) }) }
    const response = await engine.stream(`/containers/${container.id}/logs`, { query, also: [404, 409] })
    if (response.statusCode === 200) await files.append(unitId, piecesOf(await bytesOf(response)))
    return container.state === "running"
  }
  const files = outputFiles({ folderOf, take: takeNow })

  const watchLogs: UnitOutput["watchLogs"] = async (unitId, onOutput) => {
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
  const { logs, logMark, clearLogs, inTurn } = files
  return { take: (unitId) => inTurn(unitId, () => takeNow(unitId)), logs, logMark, clearLogs, watchLogs }
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

/** As seconds with nanoseconds. Pure. */
export function sinceOf(time: string): string {
  const [, fraction = "0"] = /\.(\d+)Z$/.exec(time) ?? []
  return `${Math.floor(Date.parse(time) / 1000)}.${fraction.padEnd(9, "0")}`
}
