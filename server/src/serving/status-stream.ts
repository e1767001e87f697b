/**
 * The stream of a server's status for the control plane: the status at once, then each change, one JSON line each. A server without
 * changes sends an empty line now and then, so a client can tell an idle server from one that hangs.
 *
 * SW1 A change of readiness or traffic is sent at once, any other one within a second; the others at most once a second.
 * SW2 The traffic, and whether acts of people wait, is read from the database at the start, after a notification, and every ten seconds in case a notification was lost.
 * SW3 The stream ends when its client leaves, when the server stops, and when the database cannot be reached: then the client asks
 *     again, and gets the error.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Database } from "@superstep/toolkit/db/database"
import type { Readiness } from "./readiness.js"
import { readStored, type StatusSources, type Stored, statusReader, type UnitStatus } from "./status.js"

const lookMs = 1000
const trafficMs = 10_000

export interface StreamedStatus extends StatusSources {
  readonly readiness: Pick<Readiness, "isReady" | "onReady">
  /** Its connection receives notifications. */
  readonly notifications: Pick<Database, "listen">
}

/**
 * @param heartbeatMs  after how long without a change an empty line is sent
 * @param ended        ends the lines
 * @throws DatabaseUnavailable
 */
export async function* statusLines(
  sources: StreamedStatus,
  heartbeatMs: number,
  ended: AbortSignal,
): AsyncGenerator<string, void> {
  const { db, readiness, notifications } = sources
  const read = statusReader(sources)
  let woken = new AbortController()
  let trafficAt = Number.NEGATIVE_INFINITY
  const wake = () => woken.abort()
  const trafficChanged = () => {
    trafficAt = Number.NEGATIVE_INFINITY
    wake()
  }
  const subscription = await notifications.listen("serving_changed", trafficChanged, trafficChanged)
  const unsubscribe = readiness.onReady(wake)
  ended.addEventListener("abort", wake, { once: true })
  try {
    let stored: Stored = { traffic: [], hasActs: false }
    let last = ""
    let sentAt = 0
    while (!ended.aborted) {
      woken = new AbortController()
      const now = performance.now()
      if (now - trafficAt >= trafficMs) {
        trafficAt = now
        stored = await readStored(db)
      }
      const status = await read(stored)
      const next = comparable(status)
      if (next !== last || now - sentAt >= heartbeatMs) {
        yield next === last ? "\n" : `${JSON.stringify(status)}\n`
        last = next
        sentAt = performance.now()
      }
      const waitMs = Math.min(lookMs, heartbeatMs)
      // It rejects only when a change or the end wakes it.
      await sleep(waitMs, undefined, { signal: woken.signal, ref: false }).catch(() => undefined)
    }
  } finally {
    unsubscribe()
    await subscription.close()
  }
}

/** Values that change all the time count as changed when they pass a tenth of the utilization, or a second of waiting. */
function comparable({ load, ...status }: UnitStatus): string {
  const busyTenths = Math.floor(load.loop_utilization * 10)
  const waitedSeconds = load.waiting_ms === null ? null : Math.floor(load.waiting_ms / 1000)
  return JSON.stringify([status, load.free_slots, busyTenths, waitedSeconds])
}

/** The body of a reply. @param leave  called when the client disconnects */
export async function bodyOf(
  lines: AsyncGenerator<string, void>,
  leave: () => void,
): Promise<ReadableStream<Uint8Array>> {
  const first = await lines.next()
  return new ReadableStream({
    start: (controller) => {
      if (first.value) controller.enqueue(Buffer.from(first.value))
    },
    pull: async (controller) => {
      // An error ends the stream; the client asks again, and gets it then (SW3).
      const line = await lines.next().catch(() => undefined)
      if (line?.value) controller.enqueue(Buffer.from(line.value))
      else controller.close()
    },
    cancel: async () => {
      leave()
      // The lines may stand at one that nobody takes any more.
      await lines.return()
    },
  })
}
