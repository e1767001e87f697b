/**
 * Writes events to the log in Postgres: for resumable runs, and for runs that clients of another server follow.
 *
 * G1 Events of a run are appended in the order of `append`; a batch is one statement, one is under way at a time.
 * G2 After `flushed()` everything appended before is committed.
 * G3 A batch that fails is tried again until the database takes it; `close` gives up after one more try.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Database } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import type { RunEvent } from "./event.js"
import { appendEvents, type NewLoggedEvent } from "./queries.js"

// A batch this large takes a few milliseconds; a larger one would only make its first event late.
const batchSize = 500
const retryDelayMs = 200

export class EventLog {
  readonly #db: Database
  readonly #log: Log
  #waiting: NewLoggedEvent[] = []
  #writing: Promise<void> | undefined
  #isClosed = false

  constructor(db: Database, log: Log) {
    this.#db = db
    this.#log = log
  }

  append(runId: string, { seq, event, data }: RunEvent): void {
    // The payload is a slice of the socket's buffer: the text is a copy that may be kept.
    this.#waiting.push({ runId, seq, event, data: data.toString("utf8") })
    this.#writing ??= this.#write()
  }

  async flushed(): Promise<void> {
    while (this.#writing) await this.#writing
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.flushed()
  }

  async #write(): Promise<void> {
    // Lets everything of this tick join the first batch.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, batchSize)
      try {
        await appendEvents(this.#db, batch)
        this.#waiting = this.#waiting.slice(batch.length)
      } catch (err) {
        this.#log.warn({ err, events: batch.length }, "events could not be logged yet")
        if (this.#isClosed) break
        await sleep(retryDelayMs)
      }
    }
    this.#writing = undefined
  }
}
