/**
 * Notifications that only make other processes look earlier for what they would find anyway.
 *
 * Postgres holds one lock for all databases of a cluster from before the commit of a notifying transaction until after
 * its flush. If such a transaction also writes data, the commits of all deployments wait for each other's disk. So a hint is
 * a statement of its own, sent after the commit that it is about. It writes no data, and its commit waits for no flush.
 *
 * H1 All hints of a few milliseconds are sent in one statement, equal ones once. One statement is under way at a time.
 * H2 A hint may be lost: when the database cannot be reached, when too many wait, and when its receiver is not connected.
 *    Receivers must also poll once in a while.
 * H3 `close` sends the waiting hints. Later hints are dropped.
 */
import type { Log } from "../log/log.js"
import type { Db } from "./database.js"
import { sql } from "./sql.js"

// Too short for a person to notice, and long enough to limit a busy server to some hundred statements a second.
const defaultMergeMs = 5

// Only with an unreachable database do so many collect.
const defaultMaxWaiting = 10_000

export interface HintsOptions {
  /** Must not be a transaction. */
  readonly db: Db
  readonly log: Log
  /** The shortest time between two statements, in milliseconds. A hint after a pause is sent at once. */
  readonly mergeMs?: number
  /** How many different hints may wait; more are dropped. */
  readonly maxWaiting?: number
}

interface Hint {
  readonly channel: string
  readonly payload: string
}

export class Hints {
  readonly #options: HintsOptions
  readonly #mergeMs: number
  readonly #maxWaiting: number
  /** By channel and payload. */
  #waiting = new Map<string, Hint>()
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined
  #lastSentAt = Number.NEGATIVE_INFINITY
  #isClosed = false

  constructor(options: HintsOptions) {
    this.#options = options
    this.#mergeMs = options.mergeMs ?? defaultMergeMs
    this.#maxWaiting = options.maxWaiting ?? defaultMaxWaiting
  }

  /**
   * Notifies a channel soon. It never fails and never waits.
   * @param payload  less than 8,000 bytes, the limit of Postgres
   */
  send(channel: string, payload = ""): void {
    if (this.#isClosed) return
    const key = `${channel} ${payload}`
    if (this.#waiting.size >= this.#maxWaiting && !this.#waiting.has(key)) return
    this.#waiting.set(key, { channel, payload })
    this.#schedule()
  }

  /** Sends the waiting hints, and none after that. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#sending
    if (this.#waiting.size > 0) await this.#sendAll()
  }

  #schedule(): void {
    if (this.#timer || this.#sending || this.#isClosed || this.#waiting.size === 0) return
    const pauseMs = this.#lastSentAt + this.#mergeMs - performance.now()
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        this.#sending = this.#sendAll().finally(() => {
          this.#sending = undefined
          this.#schedule()
        })
      },
      Math.max(0, pauseMs),
    )
    this.#timer.unref()
  }

  async #sendAll(): Promise<void> {
    const { db, log } = this.#options
    const hints = [...this.#waiting.values()]
    this.#waiting = new Map()
    this.#lastSentAt = performance.now()
    try {
      await db.run(sql`
        select pg_notify(channel, payload)
        from unnest(${hints.map(({ channel }) => channel)}::text[], ${hints.map(({ payload }) => payload)}::text[])
          as hint (channel, payload)`)
    } catch (err) {
      log.debug({ err, hints: hints.length }, "hints to other processes were lost")
    }
  }
}
