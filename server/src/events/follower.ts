/** Reads the log of a run that executes in another server, each time it is told that there is more. */
import type { Log } from "@superstep/toolkit/log/log"
import type { RunEvent } from "./event.js"
import type { LoggedEvent } from "./queries.js"

export interface FollowerOptions {
  /** The id after which it starts. */
  readonly position: number
  readonly log: Log
  /** A page of events after an id, oldest first; an empty one when there is nothing more. */
  readonly read: (after: number) => Promise<LoggedEvent[]>
  readonly onEvent: (event: RunEvent) => void
  /** The log holds the run's end. */
  readonly onEnd: () => void
}

// Long enough for a database to come back, short enough for a client that waits.
const retryDelayMs = 250

export class Follower {
  readonly #options: FollowerOptions
  #position: number
  #isReading = false
  #isWoken = false
  #isStopped = false

  constructor(options: FollowerOptions) {
    this.#options = options
    this.#position = options.position
  }

  /** There may be more: reads on, or once more when it is reading already. */
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
        const page = await read(this.#position)
        this.#isWoken ||= page.length > 0
        for (const event of page) this.#pass(event)
      }
    } catch (err) {
      // The notification that woke it may have been the last one: it wakes itself.
      log.warn({ err }, "the event log could not be read yet")
      setTimeout(() => this.wake(), retryDelayMs).unref()
    } finally {
      this.#isReading = false
    }
  }

  #pass({ seq, event, data }: LoggedEvent): void {
    this.#position = seq
    if (this.#isStopped) return
    this.#options.onEvent({ seq, event, data: Buffer.from(data) })
    if (event === "end") this.#options.onEnd()
  }
}
