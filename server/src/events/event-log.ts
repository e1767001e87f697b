/**
 * Writes the events of logged runs (B1) to the log in Postgres.
 *
 * G1 Events of a run are written in the order of `append`. A batch is one statement; one batch is written at a time.
 * G2 `flushed(run)` resolves when every event that was appended for this run before the call is committed. It rejects when
 *    these events can no longer be committed. Then a checkpoint or an end that waits for them must not be written.
 * G3 A batch that fails is retried until the database accepts it. After `close` it is tried once more; when that fails too,
 *    all waiting events and all events appended later are given up.
 * G4 An event that Postgres rejects for its content is dropped and reported in the server's log; no other event waits for it.
 * G5 The waiting bytes are bounded, for each run and in total; each event counts with what its object takes, so the number of events
 *    is bounded too. Above the bound `append` returns a promise to wait for. Adding and removing an event takes constant time.
 * G6 `onLogged` is called after the commit, in the order of `append`. It is not called for an event that is not in the
 *    log: dropped (G4), given up (G3), or of an attempt that is over (R4).
 * G7 Each run gets an equal share of a batch, so a run with many events does not delay the others.
 * G8 In a thread, events become visible in the order of their positions: a writer holds a lock on the thread's log until the
 *    commit, and takes the positions while it holds the lock. So a reader at a position has missed no event before it.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { Fifo } from "@superstep/toolkit/collections/fifo"
import type { Db } from "@superstep/toolkit/db/database"
import { isPassing } from "@superstep/toolkit/db/unavailable"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import type { RunEvent } from "./event.js"
import { type AppendedTo, appendEvents, type NewEvent } from "./queries.js"

// A batch of this size takes a few milliseconds; a larger one would only delay its first event. The bound on bytes keeps
// the statement's parameters far below the maximum length of a string.
const maxEvents = 500
const maxBytes = 2 * 1024 * 1024
const retryDelayMs = 200
// Two batches of one run: the one being written, and the next.
const maxWaitingBytesOfRun = 4 * 1024 * 1024
// Half a second of events of the fastest graph. While the database is unavailable, workers wait and this process's memory does not grow.
const maxWaitingBytes = 16 * 1024 * 1024
// What an event takes in memory besides its data: a million events of two bytes each take 300 MB.
const bytesOfEvent = 300

type OnLogged = (event: NewEvent) => void

interface Item extends NewEvent {
  readonly sizeBytes: number
  readonly onLogged: OnLogged | undefined
}

interface Waiter {
  /** How many events of the run must have left the queue. */
  readonly position: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** The waiting events of one run, with those being written. Removed when empty. */
interface RunQueue {
  readonly items: Fifo<Item>
  sizeBytes: number
  /** Events that left the queue. */
  done: number
  readonly waiters: Fifo<Waiter>
}

const givenUp = () => new Unavailable("the server stopped before the events of the run could be logged")

export interface EventLogOptions {
  readonly db: Db
  readonly log: Log
  /** Events of a run were committed. */
  onAppended(run: AppendedTo): void
}

export class EventLog {
  readonly #options: EventLogOptions
  /** By run; the run that has waited longest for its turn comes first. */
  readonly #queues = new Map<string, RunQueue>()
  #waitingBytes = 0
  #writing: Promise<void> | undefined
  #isClosed = false
  #isGivenUp = false

  constructor(options: EventLogOptions) {
    this.#options = options
  }

  /**
   * @param onLogged  called when the event can be read from the log (G6)
   * @returns a promise to wait for before the next append for this run, when too many bytes wait (G5)
   */
  append(
    runId: string,
    { seq, event, data, threadId, after }: RunEvent & Pick<NewEvent, "threadId" | "after">,
    onLogged?: OnLogged,
  ): Promise<void> | undefined {
    if (this.#isGivenUp) return undefined
    const queue = this.#queues.get(runId) ?? { items: new Fifo(), sizeBytes: 0, done: 0, waiters: new Fifo() }
    this.#queues.set(runId, queue)
    // The payload is a slice of the socket's buffer, so keep a copy as text.
    const sizeBytes = data.length + bytesOfEvent
    queue.items.push({ runId, seq, event, data: data.toString("utf8"), threadId, after, sizeBytes, onLogged })
    queue.sizeBytes += sizeBytes
    this.#waitingBytes += sizeBytes
    this.#writing ??= this.#write()
    const isFull = queue.sizeBytes > maxWaitingBytesOfRun || this.#waitingBytes > maxWaitingBytes
    // Both a commit and giving up make room.
    return isFull ? this.flushed(runId).catch(() => undefined) : undefined
  }

  /** @throws Unavailable  when the events were given up (G3) */
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
    // All events of this tick join the first batch.
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

  /** Takes a share of each run's events (G7), and moves these runs to the end of the queue. */
  #nextBatch(): Item[] {
    const shareBytes = maxBytes / this.#queues.size
    const batch: Item[] = []
    for (const [runId, queue] of [...this.#queues]) {
      const room = maxEvents - batch.length
      if (room === 0) break
      addShare(batch, queue.items, { events: room, bytes: shareBytes })
      this.#queues.delete(runId)
      this.#queues.set(runId, queue)
    }
    return batch
  }

  /** @returns the error when it failed; undefined when the events are in the log, or left out because their attempt is over */
  async #append(batch: readonly Item[]): Promise<unknown> {
    const { db, log, onAppended } = this.#options
    const appended = await appendEvents(db, batch).catch((err: unknown) => {
      log.warn({ err, events: batch.length }, "events could not be logged, will retry")
      return { failure: err }
    })
    if ("failure" in appended) return appended.failure
    const places = new Set(appended.refused.map(placeOf))
    if (places.size > 0)
      log.info({ events: places.size, promise: "D14" }, "late events of attempts that are over were refused")
    for (const item of batch) this.#done(item, !places.has(placeOf(item)))
    for (const run of appended.runs) onAppended(run)
    return undefined
  }

  /** Writes events one by one after a batch failed for its content, and logs which event cannot be written. */
  async #appendSingly(batch: readonly Item[]): Promise<void> {
    for (const item of batch) {
      const failure = await this.#append([item])
      if (isPassing(failure)) return
      if (failure === undefined) continue
      this.#options.log.error(
        { err: failure, run_id: item.runId, seq: item.seq },
        "an event could not be logged and was dropped",
      )
      this.#done(item, false)
    }
  }

  /** Removes the first event from its run's queue. */
  #done({ runId }: Item, isLogged: boolean): void {
    const queue = this.#queues.get(runId)
    const item = queue?.items.shift()
    if (!queue || !item) return
    queue.done += 1
    queue.sizeBytes -= item.sizeBytes
    this.#waitingBytes -= item.sizeBytes
    if (queue.items.length === 0) this.#queues.delete(runId)
    if (isLogged) item.onLogged?.(item)
    for (let next = queue.waiters.peek(); next && next.position <= queue.done; next = queue.waiters.peek()) {
      queue.waiters.shift()
      next.resolve()
    }
  }

  #giveUp(): void {
    const queues = [...this.#queues.values()]
    const events = queues.reduce((count, { items }) => count + items.length, 0)
    this.#options.log.error({ events }, "events were dropped because the server stops: their runs are attempted again")
    this.#isGivenUp = true
    this.#queues.clear()
    this.#waitingBytes = 0
    for (const { waiters } of queues) for (const { reject } of waiters) reject(givenUp())
  }
}

const placeOf = ({ runId, seq }: Pick<NewEvent, "runId" | "seq">): string => `${runId} ${seq}`

/** Adds the first events to the batch, as many as there is room for and at least one; they stay in the queue until they are logged. */
function addShare(batch: Item[], items: Iterable<Item>, room: { events: number; bytes: number }): void {
  let { events, bytes } = room
  let isFirst = true
  for (const item of items) {
    bytes -= item.sizeBytes
    if (events-- === 0 || (bytes < 0 && !isFirst)) return
    batch.push(item)
    isFirst = false
  }
}
