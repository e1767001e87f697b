/** Reads new events from the log of a topic that another server appends to, each time it is woken. */
import type { Log } from "@superstep/toolkit/log/log"
import type { LoggedEvent } from "./queries.js"

export interface FollowerOptions {
  /** The place after which it starts. */
  readonly place: number
  readonly log: Log
  /** A page of events after a place, oldest first; an empty one when there is nothing more. */
  readonly read: (after: number) => Promise<readonly LoggedEvent[]>
  readonly onEvent: (event: LoggedEvent) => void
}

// Long enough for a database to recover, short enough for a client that waits.
const retryDelayMs = 250

export class Follower {
  readonly #options: FollowerOptions
  #place: number
  #isReading = false
  #isWoken = false
  #isStopped = false

  constructor(options: FollowerOptions) {
    this.#options = options
    this.#place = options.place
  }

  /** The place of the last event read. */
  get place(): number {
    return this.#place
  }

  /** Reads new events; when it is already reading, it reads once more afterwards. */
  wake(): void {
    this.#isWoken = true
    if (this.#isReading || this.#isStopped) return
    this.#isReading = true
    void this.#readOn()
  }

  stop(): void {
    this.#isStopped = true
  }

  async #readOn(): Promise<void> {
    const { read, log } = this.#options
    try {
      while (this.#isWoken && !this.#isStopped) {
        this.#isWoken = false
        const events = await read(this.#place)
        this.#isWoken ||= events.length > 0
        for (const event of events) this.#pass(event)
      }
    } catch (err) {
      // No further notification may come, so it wakes itself.
      log.warn({ err }, "the event log could not be read, will retry")
      setTimeout(() => this.wake(), retryDelayMs).unref()
    } finally {
      this.#isReading = false
    }
  }

  #pass(event: LoggedEvent): void {
    this.#place = event.place
    if (!this.#isStopped) this.#options.onEvent(event)
  }
}
