/**
 * The output of units from the API server, which gives the log of a pod by time. The log goes with the pod: what is printed while a pod is
 * ended is in a file until it is stored.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Log } from "@superstep/toolkit/log/log"
import { lifeIdOf, type Place, placeIn } from "../parts/output/engine-output.js"
import { unreadOutput } from "../parts/output/unread-output.js"
import type { Units } from "../port/port.js"
import { type Cluster, ClusterFailed } from "./cluster/cluster.js"
import { containerName, nameOf, type Pod } from "./cluster/objects.js"
import { stateOf } from "./cluster/pod-state.js"
import { readAnswer, readPodLog, untilBroken } from "./pod-log.js"

export interface UnitOutputPlace {
  readonly cluster: Cluster
  /** The path of pods in the API. */
  readonly pods: string
  folderOf(unitId: string): string
  findPod(unitId: string): Promise<Pod | undefined>
  /** The same, of the API server itself. */
  askForPod(unitId: string): Promise<Pod | undefined>
  readonly log: Log
}

export interface UnitOutput extends Pick<Units, "logs" | "watchLogs"> {
  /** Runs what ends the unit's pod, and keeps what is printed until then. What cannot be kept is only reported. */
  keepWhile(unitId: string, end: () => Promise<void>): Promise<void>
}

// How long the rest of a log may take after its pod has gone.
const restMs = 2000
// The API server asks the pod's node. One that is lost must not keep anybody waiting.
const openMs = 5000

export function unitOutput({ cluster, pods, folderOf, findPod, askForPod, log }: UnitOutputPlace): UnitOutput {
  // Where the last read of a unit with a pod has started: what is before that is stored.
  const asked = new Map<string, string>()
  /** The unit's pod is being ended. One end at a time, since each writes the same file. */
  const ends = new Map<string, Promise<void>>()
  const unread = unreadOutput(folderOf)

  /** @returns  undefined when there is no log now: the container has not started, its node is lost, or the server does not answer */
  const openLog = async (unitId: string, query: Record<string, string>, signal?: AbortSignal) => {
    const path = `${pods}/${nameOf(unitId)}/log`
    const request = { query: { container: containerName, ...query }, answerMs: openMs, ...(signal && { signal }) }
    try {
      return await cluster.stream(path, request)
    } catch (error) {
      if (error instanceof ClusterFailed) return undefined
      throw error
    }
  }
  const logs: Units["logs"] = async (unitId, from) => {
    const pod = await findPod(unitId)
    const presentLifeId = pod && lifeOf(pod)
    const readKept = (log: AsyncIterable<Buffer>, place: Place) => readPodLog(log, { from, place, hasEnded: true })
    const mayGrow = ends.has(unitId)
    const kept = await unread.read(unitId, { from, presentLifeId, mayGrow, read: readKept })
    if (kept) return kept
    const nothing = { lines: [], next: from }
    if (!pod) {
      asked.delete(unitId)
      return nothing
    }
    asked.set(unitId, from)
    // Until its container has started there is none to ask for.
    if (!stateOf(pod)) return nothing
    const place = placeIn(lifeOf(pod), from)
    const present = await openLog(unitId, queryFrom(place))
    if (!present) return nothing
    const found = await readAnswer(present, { from, place, hasEnded: stateOf(pod)?.state === "exited" })
    if (found.next === from) return nothing
    // A log is asked for by the name of its pod, which a pod that was made meanwhile has, too.
    const now = await askForPod(unitId)
    return now && lifeOf(now) !== presentLifeId ? nothing : found
  }

  /** @returns  `isKept` resolves when the log of the unit's pod has ended; undefined when there is no log */
  const keepRest = async (unitId: string, signal: AbortSignal): Promise<{ isKept: Promise<void> } | undefined> => {
    const pod = await findPod(unitId)
    if (!pod) return undefined
    const lifeId = lifeOf(pod)
    const query = queryFrom(placeIn(lifeId, asked.get(unitId) ?? ""))
    const followed = await openLog(unitId, { follow: "true", ...query }, signal)
    if (!followed) {
      // A pod that has not started has none.
      if (stateOf(pod)) log.warn({ unit_id: unitId }, "the log of a pod cannot be read: its last output may be lost")
      return undefined
    }
    const onBreak = (err: unknown) => {
      if (!signal.aborted)
        log.warn({ err, unit_id: unitId }, "the log of a pod broke off while the pod ends: its last output may be lost")
    }
    return { isKept: unread.keep(unitId, lifeId, untilBroken(followed, onBreak)) }
  }
  const endNow = async (unitId: string, end: () => Promise<void>): Promise<void> => {
    const stopping = new AbortController()
    // A full disk must not keep a pod running.
    const report = (err: unknown) =>
      log.error({ err, unit_id: unitId }, "the last output of a unit could not be kept; its pod is ended all the same")
    const rest = await keepRest(unitId, stopping.signal).catch(report)
    const isKept = rest?.isKept.catch(report)
    try {
      await end()
      await Promise.race([isKept, sleep(restMs, undefined, { ref: false })])
    } finally {
      stopping.abort()
      await isKept
    }
  }
  const keepWhile: UnitOutput["keepWhile"] = (unitId, end) => {
    // Whoever asked for the former end gets its error.
    const former = (ends.get(unitId) ?? Promise.resolve()).catch(() => undefined)
    const ended = former.then(() => endNow(unitId, end))
    ends.set(unitId, ended)
    return ended.finally(() => ends.get(unitId) === ended && ends.delete(unitId))
  }
  const watchLogs: UnitOutput["watchLogs"] = async (unitId, onOutput, onEnd) => {
    const pod = await findPod(unitId)
    if (!pod || stateOf(pod)?.state !== "running") return undefined
    const stopping = new AbortController()
    const followed = await openLog(unitId, { follow: "true", tailLines: "0" }, stopping.signal)
    if (!followed) return undefined
    // An aborted stream ends with an error, which says nothing new.
    followed
      .on("data", onOutput)
      .on("error", () => undefined)
      .once("close", () => {
        onEnd?.()
        onOutput()
      })
    return () => stopping.abort()
  }
  return { logs, watchLogs, keepWhile }
}

const lifeOf = ({ metadata }: Pod): string => lifeIdOf(metadata.creationTimestamp ?? "", metadata.uid ?? "")

const queryFrom = ({ sinceMs }: Place) => ({
  timestamps: "true",
  ...(sinceMs !== undefined && { sinceTime: new Date(sinceMs).toISOString() }),
})
