/**
 * Writes events to the log in Postgres: for resumable runs, and for runs that clients of another server follow.
 *
 * G1 Events of a run are appended in the order of `append`; a batch is one statement, one is under way at a time.
 * G2 `flushed()` resolves when everything that was appended before the call is committed, whatever comes after it. It
 *    rejects once that cannot be any more: a checkpoint or an end that waits for it must not be written then.
 * G3 A batch that fails is tried again until the database takes it. After `close` it is tried once more; when that fails,
 *    all that waits and all that is still to come is given up.
 * G4 An event that Postgres refuses for what it is is dropped with a word in the log, and holds up nobody else's.
 * G5 What waits here is bounded: while the log is far behind, whoever appends is told to wait.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Database } from "@superstep/toolkit/db/database"
import { isPassing } from "@superstep/toolkit/db/unavailable"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import type { RunEvent } from "./event.js"
import { appendEvents, type NewLoggedEvent } from "./queries.js"

// A batch this large takes a few milliseconds; a larger one would only make its first event late. The bytes keep the
// statement's parameters far below the longest string there can be.
const mostEvents = 500
const mostBytes = 2 * 1024 * 1024
const retryDelayMs = 200
// Half a second of the quickest graph; while the database is away the workers wait instead of this process's memory.
const mostWaitingBytes = 16 * 1024 * 1024

interface Waiter {
  /** How many events must have been dealt with. */
  readonly position: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

const givenUp = () => new Unavailable("the server stopped before the events of the run could be logged")

export class EventLog {
  readonly #db: Database
  readonly #log: Log
  #waiting: NewLoggedEvent[] = []
  #waitingBytes = 0
  /** Events that were appended, and those that were dealt with, since the start. */
  #appended = 0
  #done = 0
  #waiters: Waiter[] = []
  #writing: Promise<void> | undefined
  #isClosed = false
  #isGivenUp = false

  constructor(db: Database, log: Log) {
    this.#db = db
    this.#log = log
  }

  /** @returns what to wait for before more is appended, when the log is far behind (G5) */
  append(runId: string, { seq, event, data }: RunEvent): Promise<void> | undefined {
    if (this.#isGivenUp) return undefined
    // The payload is a slice of the socket's buffer: the text is a copy that may be kept.
    this.#waiting.push({ runId, seq, event, data: data.toString("utf8") })
    this.#waitingBytes += data.length
    this.#appended++
    this.#writing ??= this.#write()
    // There is room either way, whether it was committed or given up.
    return this.#waitingBytes > mostWaitingBytes ? this.flushed().catch(() => undefined) : undefined
  }

  /** @throws Unavailable  when it was given up (G3) */
  flushed(): Promise<void> {
    const position = this.#appended
    if (this.#isGivenUp) return Promise.reject(givenUp())
    if (this.#done >= position) return Promise.resolve()
    return new Promise((resolve, reject) => this.#waiters.push({ position, resolve, reject }))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#writing
  }

  async #write(): Promise<void> {
    // Lets everything of this tick join the first batch.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, batchLength(this.#waiting))
      const isLastTry = this.#isClosed
      const failure = await this.#append(batch)
      if (failure === undefined) this.#deal(batch.length)
      else if (!isPassing(failure)) await this.#appendSingly(batch)
      else if (isLastTry) this.#giveUp()
      else await sleep(retryDelayMs)
    }
    this.#writing = undefined
  }

  async #append(batch: readonly NewLoggedEvent[]): Promise<unknown> {
    try {
      await appendEvents(this.#db, batch)
      return undefined
    } catch (err) {
      this.#log.warn({ err, events: batch.length }, "events could not be logged yet")
      return err
    }
  }

  /** One of them cannot be written: the others are, and that one is named. */
  async #appendSingly(batch: readonly NewLoggedEvent[]): Promise<void> {
    for (const event of batch) {
      const failure = await this.#append([event])
      if (isPassing(failure)) return
      if (failure !== undefined) {
        this.#log.error({ err: failure, run_id: event.runId, seq: event.seq }, "an event cannot be logged: dropped")
      }
      this.#deal(1)
    }
  }

  #deal(count: number): void {
    for (const { data } of this.#waiting.splice(0, count)) this.#waitingBytes -= Buffer.byteLength(data)
    this.#done += count
    const [ready, rest] = [[] as Waiter[], [] as Waiter[]]
    for (const waiter of this.#waiters) (waiter.position <= this.#done ? ready : rest).push(waiter)
    this.#waiters = rest
    for (const { resolve } of ready) resolve()
  }

  #giveUp(): void {
    this.#log.error({ events: this.#waiting.length }, "events are given up: their runs are attempted again")
    this.#isGivenUp = true
    this.#waiting = []
    this.#waitingBytes = 0
    for (const { reject } of this.#waiters.splice(0)) reject(givenUp())
  }
}

/** How many of the waiting events make a batch: at least one. */
function batchLength(waiting: readonly Pick<NewLoggedEvent, "data">[]): number {
  let bytes = 0
  let length = 0
  for (const { data } of waiting) {
    bytes += data.length
    if (length > 0 && (bytes > mostBytes || length === mostEvents)) break
    length++
  }
  return length
}
