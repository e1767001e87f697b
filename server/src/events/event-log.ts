/**
 * Writes events to the log in Postgres: for resumable runs, and for runs that clients of another server follow.
 *
 * G1 Events of a run are appended in the order of `append`; a batch is one statement, one is under way at a time.
 * G2 `flushed(run)` resolves when everything that was appended for this run before the call is committed. It rejects once
 *    that cannot be any more: a checkpoint or an end that waits for it must not be written then.
 * G3 A batch that fails is tried again until the database takes it. After `close` it is tried once more; when that fails,
 *    everything that waits and everything that is still appended is given up.
 * G4 An event that Postgres refuses for its content is dropped and named in the server's log; no other event waits for it.
 * G5 The bytes that wait here are bounded, for each run and in total: above the bound `append` returns what to wait for.
 * G6 `onLogged` is called after the commit, in the order of `append`. It is not called for an event that is not in the
 *    log: dropped (G4), given up (G3), or of an attempt that is over (R4).
 * G7 Each run gets an equal share of a batch, so a run with much to log does not delay the others.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Database } from "@superstep/toolkit/db/database"
import { isPassing } from "@superstep/toolkit/db/unavailable"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import type { RunEvent } from "./event.js"
import { appendEvents, type LoggedEvent, type NewLoggedEvent } from "./queries.js"

// A batch this large takes a few milliseconds; a larger one would only make its first event late. The bytes keep the
// statement's parameters far below the longest string there can be.
const mostEvents = 500
const mostBytes = 2 * 1024 * 1024
const retryDelayMs = 200
// Two batches of one run: one under way, and the next one.
const mostWaitingBytesOfRun = 4 * 1024 * 1024
// Half a second of the quickest graph; while the database is away the workers wait instead of this process's memory.
const mostWaitingBytes = 16 * 1024 * 1024

type OnLogged = (event: LoggedEvent) => void

interface Item extends NewLoggedEvent {
  readonly sizeBytes: number
  readonly onLogged: OnLogged | undefined
}

interface Waiter {
  /** How many events of the run must have left the queue. */
  readonly position: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** What waits for one run, with what is under way. It is removed when it is empty. */
interface RunQueue {
  items: Item[]
  sizeBytes: number
  /** Events that left the queue. */
  done: number
  waiters: Waiter[]
}

const givenUp = () => new Unavailable("the server stopped before the events of the run could be logged")

export class EventLog {
  readonly #db: Database
  readonly #log: Log
  /** By run, the one that waits longest for its turn first. */
  readonly #queues = new Map<string, RunQueue>()
  #waitingBytes = 0
  #writing: Promise<void> | undefined
  #isClosed = false
  #isGivenUp = false

  constructor(db: Database, log: Log) {
    this.#db = db
    this.#log = log
  }

  /**
   * @param onLogged  called when the event can be read again (G6)
   * @returns what to wait for before more is appended for this run, when too much waits (G5)
   */
  append(runId: string, { seq, event, data }: RunEvent, onLogged?: OnLogged): Promise<void> | undefined {
    if (this.#isGivenUp) return undefined
    const queue = this.#queues.get(runId) ?? { items: [], sizeBytes: 0, done: 0, waiters: [] }
    this.#queues.set(runId, queue)
    // The payload is a slice of the socket's buffer: the text is a copy that may be kept.
    queue.items.push({ runId, seq, event, data: data.toString("utf8"), sizeBytes: data.length, onLogged })
    queue.sizeBytes += data.length
    this.#waitingBytes += data.length
    this.#writing ??= this.#write()
    const isFull = queue.sizeBytes > mostWaitingBytesOfRun || this.#waitingBytes > mostWaitingBytes
    // There is room either way, whether it was committed or given up.
    return isFull ? this.flushed(runId).catch(() => undefined) : undefined
  }

  /** @throws Unavailable  when it was given up (G3) */
  flushed(runId: string): Promise<void> {
    if (this.#isGivenUp) return Promise.reject(givenUp())
    const queue = this.#queues.get(runId)
    if (queue === undefined) return Promise.resolve()
    const position = queue.done + queue.items.length
    return new Promise((resolve, reject) => queue.waiters.push({ position, resolve, reject }))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#writing
  }

  async #write(): Promise<void> {
    // Lets everything of this tick join the first batch.
    await Promise.resolve()
    while (this.#queues.size > 0) {
      const batch = this.#nextBatch()
      const isLastTry = this.#isClosed
      const failure = await this.#append(batch)
      if (failure === undefined) continue
      if (!isPassing(failure)) await this.#appendSingly(batch)
      else if (isLastTry) this.#giveUp()
      else await sleep(retryDelayMs)
    }
    this.#writing = undefined
  }

  /** Takes a share of each run (G7); the runs that gave something go to the end of the line. */
  #nextBatch(): Item[] {
    const shareBytes = mostBytes / this.#queues.size
    const batch: Item[] = []
    for (const [runId, queue] of [...this.#queues]) {
      const room = mostEvents - batch.length
      if (room === 0) break
      batch.push(...queue.items.slice(0, Math.min(room, countWithin(queue.items, shareBytes))))
      this.#queues.delete(runId)
      this.#queues.set(runId, queue)
    }
    return batch
  }

  /** @returns why it failed; undefined when the events are in the log, or refused because their attempt is over */
  async #append(batch: readonly Item[]): Promise<unknown> {
    const refused = await appendEvents(this.#db, batch).catch((err: unknown) => {
      this.#log.warn({ err, events: batch.length }, "events could not be logged yet")
      return { failure: err }
    })
    if ("failure" in refused) return refused.failure
    const places = new Set(refused.map(placeOf))
    for (const item of batch) this.#done(item, !places.has(placeOf(item)))
    return undefined
  }

  /** One of them cannot be written: the others are, and that one is named. */
  async #appendSingly(batch: readonly Item[]): Promise<void> {
    for (const item of batch) {
      const failure = await this.#append([item])
      if (isPassing(failure)) return
      if (failure === undefined) continue
      this.#log.error({ err: failure, run_id: item.runId, seq: item.seq }, "an event cannot be logged: dropped")
      this.#done(item, false)
    }
  }

  /** The first event of its run's queue leaves it. */
  #done({ runId }: Item, isLogged: boolean): void {
    const queue = this.#queues.get(runId)
    const item = queue?.items.shift()
    if (!queue || !item) return
    queue.done += 1
    queue.sizeBytes -= item.sizeBytes
    this.#waitingBytes -= item.sizeBytes
    if (queue.items.length === 0) this.#queues.delete(runId)
    if (isLogged) item.onLogged?.(item)
    while (queue.waiters[0] && queue.waiters[0].position <= queue.done) queue.waiters.shift()?.resolve()
  }

  #giveUp(): void {
    const queues = [...this.#queues.values()]
    const events = queues.reduce((count, { items }) => count + items.length, 0)
    this.#log.error({ events }, "events are given up: their runs are attempted again")
    this.#isGivenUp = true
    this.#queues.clear()
    this.#waitingBytes = 0
    for (const { waiters } of queues) for (const { reject } of waiters) reject(givenUp())
  }
}

const placeOf = ({ runId, seq }: Pick<NewLoggedEvent, "runId" | "seq">): string => `${runId} ${seq}`

/** How many of the events fit: at least one. */
function countWithin(items: readonly Item[], bytes: number): number {
  let left = bytes
  const tooMany = items.findIndex(({ sizeBytes }, index) => {
    left -= sizeBytes
    return index > 0 && left < 0
  })
  return tooMany === -1 ? items.length : tooMany
}
