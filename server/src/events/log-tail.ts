/** Tails the log of a topic: reads new events each time it is woken, and takes those that this process appends as they are. */
import type { Log } from "@superstep/toolkit/log/log"
import type { AppendedEvents, LoggedEvent } from "./queries.js"

export interface LogTailOptions {
  /** The place after which it starts. */
  readonly place: number
  readonly log: Log
  /** A page of events after a place, oldest first; an empty one when there is nothing more. */
  readonly read: (after: number) => Promise<readonly LoggedEvent[]>
  readonly onEvent: (event: LoggedEvent) => void
}

// Long enough for a database to recover, short enough for a client that waits.
const retryDelayMs = 250

export class LogTail {
  readonly #options: LogTailOptions
  #place: number
  #isReading = false
  #isWoken = false
  #isStopped = false

  constructor(options: LogTailOptions) {
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

  /** Called when this process has appended events: they are not read again, unless others were appended before them. */
  take({ after, events }: AppendedEvents): void {
    if (this.#isReading || after !== this.#place) this.wake()
    else for (const event of events) this.#pass(event)
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
