/**
 * The writing end of a run that executes here.
 *
 * B1 The events of a run are logged when it is resumable, another server watches it (`watched_by`), somebody follows its
 *    thread, or a client reads more slowly than the run may wait for (B6).
 * B4 What is published after `detach` reaches nobody: another attempt has the stream.
 * B5 An event of a logged run reaches clients when it is in the log: what a client has seen can be read again.
 * B6 A run without a log waits for clients that are behind: a moment for each time, and for `patienceMs` in all. Then it is
 *    logged from there on, and who is behind reads the log at its own pace.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { firstSeq, resultEvent, stateEvent } from "./event.js"
import type { EventLog } from "./event-log.js"
import type { LoggedEvent } from "./queries.js"
import type { RunStream } from "./run-stream.js"

// A client that reads takes what it was given in far less. One that does not read costs the run no more than this.
const mostWaitMs = 2_000

export interface Result {
  /** JSON text; made only when somebody waits. */
  readonly text: () => string
  /** Nothing of the run is left in the database, so that servers whose clients wait for it must be told. */
  readonly isOnlyCopy: boolean
}

/** What the last events of a run say. */
export interface LastWords {
  readonly status: string
  /** JSON text: why it failed. */
  readonly error?: string | undefined
  /** JSON text: the thread's state, for who follows the thread. */
  readonly state?: string | undefined
  /** For those who wait for it. */
  readonly result?: Result | undefined
}

export interface StartedRun {
  readonly runId: string
  readonly threadId: string
  readonly attempt: number
}

export interface PublisherOptions {
  readonly run: StartedRun
  readonly eventLog: EventLog
  /** Another server watches the run. */
  readonly isWatched: boolean
  readonly isLogged: boolean
  /** How long the run may wait for its clients in all, in milliseconds. */
  readonly patienceMs: number
  /** The run's clients here, if there are any. */
  stream(): RunStream | undefined
  /** Clients were behind for too long: from now on they can read from the log. */
  onLoggedForSlow(): void
  /** The run is over, and its clients have what the log has. */
  onOver(): void
  /** Another publisher has the stream, or none. */
  onDetached(): void
}

export class Publisher {
  readonly threadId: string
  readonly #options: PublisherOptions
  #seq: number
  #isWatched: boolean
  #isLogged: boolean
  #isDetached = false
  #isOver = false
  #patienceMs: number
  #waiting: Promise<void> | undefined

  constructor(options: PublisherOptions) {
    const { run, isWatched, isLogged, patienceMs } = options
    this.#options = options
    this.threadId = run.threadId
    this.#seq = firstSeq(run.attempt)
    this.#isWatched = isWatched
    this.#isLogged = isLogged
    this.#patienceMs = patienceMs
  }

  get isLogged(): boolean {
    return this.#isLogged
  }

  /**
   * @param data  one line of JSON; a Buffer is used during the call only
   * @returns what to wait for before more is published: the log or a client is behind
   */
  publish(event: string, data: Buffer | string): Promise<void> | undefined {
    if (this.#isDetached) return undefined
    const { run, eventLog, stream } = this.#options
    const item = { seq: this.#seq++, event, data: typeof data === "string" ? Buffer.from(data) : data }
    if (this.#isLogged) return eventLog.append(run.runId, item, (logged) => this.#deliver(logged))
    stream()?.publish(item)
    if (event === "end") this.#over()
    return this.#untilRead()
  }

  /**
   * The last events of a run with a log, to be committed with its end (B3); none for a run without a log. Call it when
   * everything else has been published.
   */
  lastEvents({ status, error, state, result }: LastWords): LoggedEvent[] {
    if (!this.#isLogged) return []
    const events = [
      ...(state === undefined ? [] : [[stateEvent, state] as const]),
      ...(error === undefined ? [] : [["error", error] as const]),
      ...(result?.isOnlyCopy ? [[resultEvent, result.text()] as const] : []),
      ["end", endText(this.#options.run.runId, status)] as const,
    ]
    return events.map(([event, data], n) => ({ seq: this.#seq + n, event, data }))
  }

  /**
   * Sends the last events and closes the stream; resolves when the log, if there is one, has them.
   * @param logged  what `lastEvents` gave, when it was committed with the run's end
   */
  async end(words: LastWords, logged: readonly LoggedEvent[] = []): Promise<void> {
    if (this.#isDetached) return
    const { run, eventLog } = this.#options
    const { status, error, state, result } = words
    if (result && logged.every(({ event }) => event !== resultEvent)) this.#tellResult(result)
    if (logged.length === 0) {
      if (state !== undefined) this.publish(stateEvent, state)
      if (error !== undefined) this.publish("error", error)
      this.publish("end", endText(run.runId, status))
    }
    this.#isDetached = true
    for (const event of logged) this.#deliver(event)
    if (this.#isLogged) await eventLog.flushed(run.runId).catch(() => undefined)
    // The event log refused it, and reported that. The table `runs` has this end.
    if (!this.#isOver) this.#deliver({ seq: this.#seq - 1, event: "end", data: endText(run.runId, status) })
  }

  /** Closes the writing end without an end event: the run goes on in another attempt. */
  detach(): void {
    this.#isDetached = true
    this.#options.onDetached()
  }

  /** Starts logging, because another server watches. */
  startLogging(): void {
    this.#isWatched = true
    this.#isLogged = true
  }

  /** Starts logging, because somebody follows the thread: the log has to have the run's beginning. */
  startThreadLog(): void {
    if (this.#isLogged) return
    const { run, eventLog } = this.#options
    this.#isLogged = true
    const data = Buffer.from(metadataText(run.runId, run.attempt))
    eventLog.append(run.runId, { seq: firstSeq(run.attempt), event: "metadata", data })
  }

  #deliver({ seq, event, data }: LoggedEvent): void {
    this.#options.stream()?.publish({ seq, event, data: Buffer.from(data) })
    // In the same tick: a client that joins after the end finds it in the log.
    if (event === "end") this.#over()
  }

  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.detach()
    this.#options.onOver()
  }

  #tellResult({ text, isOnlyCopy }: Result): void {
    const stream = this.#options.stream()
    if (this.#isWatched && isOnlyCopy) this.publish(resultEvent, text())
    // It takes no id, since clients of the stream would see a gap.
    else if (stream?.wants(resultEvent)) stream.tell({ seq: this.#seq, event: resultEvent, data: Buffer.from(text()) })
  }

  #untilRead(): Promise<void> | undefined {
    const stream = this.#options.stream()
    if (stream === undefined || stream.slow.size === 0) return undefined
    this.#waiting ??= this.#waitFor(stream).finally(() => {
      this.#waiting = undefined
    })
    return this.#waiting
  }

  async #waitFor({ slow }: RunStream): Promise<void> {
    const startedAt = performance.now()
    const impatience = new AbortController()
    const read = Promise.all(slow.values()).then(() => true)
    const late = sleep(Math.min(mostWaitMs, this.#patienceMs), false, { signal: impatience.signal }).catch(() => false)
    const isRead = await Promise.race([read, late])
    impatience.abort()
    this.#patienceMs = Math.max(0, this.#patienceMs - (performance.now() - startedAt))
    if (isRead || this.#isDetached) return
    this.#isLogged = true
    this.#options.onLoggedForSlow()
  }
}

/** What the first event of an attempt says (agent-server-api §7.3). */
export const metadataText = (runId: string, attempt: number): string => JSON.stringify({ run_id: runId, attempt })

/** What the last event of a run says. */
export const endText = (runId: string, status: string): string => JSON.stringify({ run_id: runId, status })
