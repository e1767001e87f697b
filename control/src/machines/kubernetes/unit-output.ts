/** The output of units from the API server, which gives the log of a pod by time. The log goes with the pod. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Log } from "@superstep/toolkit/log/log"
import { outputFiles, type Piece, type Taken } from "../output-files.js"
import type { Units } from "../port.js"
import { type Cluster, ClusterFailed } from "./cluster.js"
import { containerName, nameOf, type Pod } from "./objects.js"
import { stateOf } from "./pod-state.js"

export interface UnitOutputPlace {
  readonly cluster: Cluster
  /** The path of pods in the API. */
  readonly pods: string
  folderOf(unitId: string): string
  findPod(unitId: string): Promise<Pod | undefined>
  readonly log: Log
}

export interface UnitOutput extends Pick<Units, "logs" | "logMark" | "clearLogs" | "watchLogs"> {
  /** Runs what ends the unit's pod, and keeps what is printed until then. What cannot be kept is only reported. */
  takeWhile(unitId: string, end: () => Promise<void>): Promise<void>
}

// How long the rest of a log may take after its pod has gone.
const restMs = 2000
// The API server asks the pod's node. One that is lost must not keep anybody waiting.
const openMs = 5000
// Lines are stored together until there are so many bytes of them.
const togetherBytes = 1024 * 1024

export function unitOutput({ cluster, pods, folderOf, findPod, log }: UnitOutputPlace): UnitOutput {
  /** @returns  undefined when there is no log now: the container has not started, its node is lost, or the server does not answer */
  const openLog = async (unitId: string, query: Record<string, string>, signal?: AbortSignal) => {
    const path = `${pods}/${nameOf(unitId)}/log`
    const asked = { query: { container: containerName, ...query }, answerMs: openMs, ...(signal && { signal }) }
    try {
      return await cluster.stream(path, asked)
    } catch (error) {
      if (error instanceof ClusterFailed) return undefined
      throw error
    }
  }
  /** Reads a log to its end and stores its lines as they come. @param hasEnded  whether nothing will complete the last line */
  const takeLog = async (
    podLog: AsyncIterable<Buffer>,
    { unitId, podUid, hasEnded }: { readonly unitId: string; readonly podUid: string; readonly hasEnded: boolean },
  ): Promise<void> => {
    let { since } = await files.taken(unitId, podUid)
    // With the lines of the last time, which are counted.
    let last: readonly Piece[] = []
    for await (const lines of wholeLines(podLog, hasEnded)) {
      const pieces = [...last, ...linesOf(lines, since)]
      since = (await files.append(unitId, pieces, podUid)).since
      last = pieces.filter(({ time }) => time >= since)
    }
  }
  const queryFrom = ({ since }: Taken) => ({ timestamps: "true", ...(since !== "" && { sinceTime: since }) })

  const takeNow = async (unitId: string): Promise<Pod | undefined> => {
    const pod = await findPod(unitId)
    if (!pod) return undefined
    const { uid: podUid = "" } = pod.metadata
    const present = await openLog(unitId, queryFrom(await files.taken(unitId, podUid)))
    if (present) await takeLog(present, { unitId, podUid, hasEnded: stateOf(pod)?.state === "exited" })
    return pod
  }
  const files = outputFiles({
    folderOf,
    take: async (unitId) => {
      const pod = await takeNow(unitId)
      return pod !== undefined && stateOf(pod)?.state === "running"
    },
  })
  /** @returns  `taken` resolves when the log of the unit's pod has ended */
  const follow = async (unitId: string, signal: AbortSignal): Promise<{ readonly taken: Promise<void> }> => {
    const pod = await takeNow(unitId)
    const { uid: podUid = "" } = pod?.metadata ?? {}
    const query = queryFrom(await files.taken(unitId, podUid))
    const followed = pod && (await openLog(unitId, { follow: "true", ...query }, signal))
    return { taken: followed ? takeLog(followed, { unitId, podUid, hasEnded: true }) : Promise.resolve() }
  }
  const takeWhile = async (unitId: string, end: () => Promise<void>): Promise<void> => {
    const stopping = new AbortController()
    // A full disk must not keep a pod running.
    const report = (err: unknown) =>
      log.error(
        { err, unit_id: unitId },
        "the last output of a unit could not be stored; its pod is ended all the same",
      )
    const followed = await follow(unitId, stopping.signal).catch(report)
    const isTaken = followed?.taken.catch(report)
    try {
      await end()
      await Promise.race([isTaken, sleep(restMs, undefined, { ref: false })])
    } finally {
      stopping.abort()
      await isTaken
    }
  }
  const watchLogs: UnitOutput["watchLogs"] = async (unitId, onOutput) => {
    const stopping = new AbortController()
    const followed = await openLog(unitId, { follow: "true", tailLines: "0" }, stopping.signal)
    if (!followed) return undefined
    // An aborted stream ends with an error, which says nothing new.
    followed
      .on("data", onOutput)
      .on("error", () => undefined)
      .once("close", onOutput)
    return () => stopping.abort()
  }
  const { logs, logMark, clearLogs, inTurn } = files
  return {
    logs,
    logMark,
    clearLogs,
    watchLogs,
    takeWhile: (unitId, end) => inTurn(unitId, () => takeWhile(unitId, end)),
  }
}

/**
 * A log in pieces that end with a line. What breaks off has given what there was.
 * @param takesRest  whether a last line without an end is given, too
 */
export async function* wholeLines(log: AsyncIterable<Buffer>, takesRest: boolean): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of log) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes < togetherBytes || !chunk.includes(newline)) continue
      const all = Buffer.concat(chunks)
      const end = all.lastIndexOf(newline) + 1
      yield all.subarray(0, end)
      chunks = [all.subarray(end)]
      bytes = all.length - end
    }
  } catch {
    // It broke off, or was aborted: what came counts.
  }
  const rest = Buffer.concat(chunks)
  const whole = takesRest ? rest : rest.subarray(0, rest.lastIndexOf(newline) + 1)
  if (whole.length > 0) yield whole
}

/**
 * The lines of a log with times. The API counts in whole seconds, so it gives lines of that second again that were before `since`. Pure.
 */
export function linesOf(log: Buffer, since: string): Piece[] {
  const pieces: Piece[] = []
  for (let at = 0; at < log.length; ) {
    const end = log.indexOf(newline, at)
    const line = log.subarray(at, end === -1 ? log.length : end + 1)
    at += line.length
    const space = line.indexOf(0x20)
    const time = line.subarray(0, space).toString()
    if (time >= since) pieces.push({ time, stream: 1, content: line.subarray(space + 1) })
  }
  return pieces
}

const newline = 0x0a
