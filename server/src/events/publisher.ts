/**
 * The writing end of a run that executes here.
 *
 * B1 The events of a run are logged when the run is resumable, another server watches it (`watched_by`), a client follows
 *    its thread, or a client reads more slowly than the run may wait for (B6).
 * B4 Events published after `detach` are dropped: another attempt has the run.
 * B5 Clients get an event of a logged run only once it is in the log, so they can read again everything they have seen.
 *    `AttemptJournal` logs it, in order with the run's checkpoints.
 * B6 A run without a log waits for slow clients: up to `maxWaitMs` each time, and `slowReaderBudgetMs` in all. After a wait that was
 *    too long, the run is logged, and slow clients read the log at their own pace.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { parseJson } from "@superstep/toolkit/http/json"
import type { AttemptJournal } from "../checkpoints/attempt-journal.js"
import type { LogEvent } from "../checkpoints/claim-batch.js"
import type { LoggedPlaces } from "../checkpoints/queries.js"
import { endText, firstEvents, type Result, type RunEnding, runningEvent } from "./added-events.js"
import { firstSeq, type RunEvent, resultEvent, stateEvent } from "./event.js"
import { finalEvents, rootLifecycle, rootStatusOf } from "./protocol-event.js"
import { type AppendedEvents, appendedEvents, type NewEvent } from "./queries.js"
import type { Topic } from "./topic.js"

// A client that reads needs far less time than this. A client that does not read delays the run no longer than this.
const maxWaitMs = 2_000

export interface StartedRun {
  readonly runId: string
  readonly threadId: string
  readonly graphId: string
  readonly attempt: number
}

export interface PublisherOptions {
  readonly run: StartedRun
  readonly journal: Pick<AttemptJournal, "log" | "noteLogged" | "settled" | "whenLogged">
  /** Another server watches the run. */
  readonly isWatched: boolean
  readonly isLogged: boolean
  /** Clients follow the thread with the newer streaming protocol; then the run is logged, too. */
  readonly hasProtocolEvents: boolean
  /** How long the run may wait for its clients in all, in milliseconds. */
  readonly slowReaderBudgetMs: number
  /** The run's topic, when it has clients here. */
  topic(): Topic | undefined
  /** Called when clients were behind for too long: from now on they can read from the log. */
  onLoggedForSlow(): void
  /** Called when events of the run were committed. @param appended  undefined when it is not known what they are in the thread's log */
  onLogged(appended?: AppendedEvents): void
  /** Logs events of a run that is over. @returns  those that the log has taken */
  appendLate(events: readonly NewEvent[]): Promise<readonly NewEvent[]>
  /** Called when the run is over and its end event was delivered. */
  onOver(): void
  /** Called when this publisher no longer has the run. */
  onDetached(): void
}

export class Publisher {
  readonly threadId: string
  readonly #options: PublisherOptions
  #seq: number
  #delivered: number
  #isWatched: boolean
  #isLogged: boolean
  /** Whether the worker sends protocol events. `late`: clients came when the run was already executing. */
  #protocol: "none" | "from_start" | "late"
  /** The end is being committed: nothing more is logged before it. */
  #isEnding = false
  #isDetached = false
  #isOver = false
  #slowReaderBudgetMs: number
  #waiting: Promise<void> | undefined

  constructor(options: PublisherOptions) {
    const { run, journal, isWatched, isLogged, hasProtocolEvents, slowReaderBudgetMs } = options
    this.#options = options
    this.threadId = run.threadId
    this.#seq = firstSeq(run.attempt)
    this.#delivered = this.#seq - 1
    this.#isWatched = isWatched
    this.#isLogged = isLogged || hasProtocolEvents
    this.#protocol = hasProtocolEvents ? "from_start" : "none"
    this.#slowReaderBudgetMs = slowReaderBudgetMs
    journal.whenLogged = (events, places) => this.#sendLogged(events, places)
  }

  /** The id of the last event that clients got. */
  get delivered(): number {
    return this.#delivered
  }

  get isLogged(): boolean {
    return this.#isLogged
  }

  /** Whether the run's worker should send protocol events. */
  get hasProtocolEvents(): boolean {
    return this.#protocol === "from_start"
  }

  /** Whether another server has clients of the run. */
  get isWatched(): boolean {
    return this.#isWatched
  }

  /**
   * @param data  one line of JSON; a Buffer is used during the call only
   * @returns a promise to wait for before the next event, when the log or a client is behind
   */
  publish(event: string, data: Buffer | string): Promise<void> | undefined {
    if (this.#isDetached) return undefined
    const seq = this.#seq++
    // The payload is a slice of the socket's buffer, so the log keeps a copy as text.
    if (this.#isLogged) return this.#options.journal.log({ seq, event, data: data.toString() })
    this.#deliver({ seq, event, data: typeof data === "string" ? Buffer.from(data) : data })
    return this.#untilRead()
  }

  /**
   * The last events of a run with a log, to be committed with its end (B3); none for a run without a log. Call it when
   * everything else has been published.
   */
  lastEvents(ending: RunEnding): NewEvent[] {
    this.#isEnding = true
    // Without a log they are composed by `end`: a client that comes until then still gets all of them.
    if (!this.#isLogged) return []
    const { runId } = this.#options.run
    const { result } = ending
    const results = result?.isOnlyCopy ? [[resultEvent, result.text()] as const] : []
    const events = [...this.#whatIsLeft(ending), ...results, ...this.#ends(ending)]
    return events.map(([event, data], n) => ({ runId, seq: this.#seq + n, event, data }))
  }

  #whatIsLeft({ state, error }: RunEnding): (readonly [string, string])[] {
    return [
      ...(state === undefined ? [] : [[stateEvent, state] as const]),
      ...(error === undefined ? [] : [["error", error] as const]),
    ]
  }

  /** The end for clients of the newer protocol, and for all others. */
  #ends({ status, error, left, refusal, isUnsaved }: RunEnding): (readonly [string, string])[] {
    const { runId, graphId } = this.#options.run
    const message = error === undefined ? undefined : (parseJson(error) as { message: string }).message
    const last = rootLifecycle({ runId, graphId, status: rootStatusOf(status), error: message, refusal })
    const late = this.#protocol === "late" && left ? finalEvents(left.values, left.interrupts) : []
    const protocol = this.#protocol === "none" ? [] : [...late, last]
    return [...protocol.map(({ event, data }) => [event, data] as const), ["end", endText(runId, status, isUnsaved)]]
  }

  /** Called when events that were published can be read from the log. */
  #sendLogged(events: readonly LogEvent[], { after, places }: LoggedPlaces): void {
    const { run, onLogged } = this.#options
    for (const event of events) this.#deliverLogged(event)
    onLogged(appendedEvents(run.runId, events, { after, places }))
  }

  /**
   * Sends the last events and closes the stream; resolves when they are in the log, if there is one.
   * @param lastLogged  the result of `lastEvents`, when it was committed with the run's end
   */
  async end(ending: RunEnding, lastLogged: readonly NewEvent[] = []): Promise<void> {
    if (this.#isDetached) return
    const { run, onLogged } = this.#options
    const { status, result, isUnsaved } = ending
    const { runId } = run
    const isSent = result === undefined || lastLogged.some(({ event }) => event === resultEvent)
    const results = isSent ? [] : this.#sendResult(result)
    const last = lastLogged.length > 0 ? [] : [...results, ...this.#whatIsLeft(ending), ...this.#ends(ending)]
    const late = last.map(([event, data], n) => ({ runId, seq: this.#seq + n, event, data }))
    this.#isDetached = true
    if (lastLogged.length > 0) onLogged()
    for (const event of lastLogged) this.#deliverLogged(event)
    const taken = this.#isLogged && late.length > 0 ? await this.#options.appendLate(late) : late
    for (const event of taken) this.#deliverLogged(event)
    // The log has not taken the end event. The table `runs` has this end. Its id follows the last delivered event: events that were dropped
    // before it are in no log, so no client has missed them.
    if (!this.#isOver)
      this.#deliver({
        seq: this.#delivered + 1,
        event: "end",
        data: Buffer.from(endText(run.runId, status, isUnsaved)),
      })
  }

  /** Resolves when every event that was published so far can be read from the log, if the run has one. */
  async flushed(): Promise<void> {
    if (this.#isLogged) await this.#options.journal.settled()
  }

  /** Closes the writing end without an end event: the run goes on in another attempt. */
  detach(): void {
    this.#isDetached = true
    this.#options.onDetached()
  }

  /** Called when another server has clients of the run: it is logged from now on. */
  noteWatched(): void {
    this.#isWatched = true
    this.#isLogged = true
  }

  /** Called when a client follows the run's thread: the run is logged from now on. */
  startLogging(): void {
    this.#isLogged = true
  }

  /**
   * Publishes the attempt's first events.
   * @param answered     the ids of the interrupts that the run answers
   * @param firstLogged  the first events, when they were committed with the run
   */
  publishFirst(answered: readonly string[], firstLogged?: AppendedEvents): void {
    const { run, onLogged } = this.#options
    if (firstLogged === undefined) {
      const events = firstEvents(run, { answered, hasProtocolEvents: this.hasProtocolEvents })
      for (const { event, data } of events) this.publish(event, data)
      return
    }
    this.#seq += firstLogged.events.length
    for (const event of firstLogged.events) {
      this.#options.journal.noteLogged(event.seq)
      this.#deliverLogged(event)
    }
    onLogged(firstLogged)
  }

  /** Called when a client follows the thread with the newer protocol: it gets the run's lifecycle, and the state after the run. */
  joinProtocol(): void {
    if (this.#protocol !== "none" || this.#isDetached) return
    // The last events of a run with a log are composed already.
    if (this.#isEnding && this.#isLogged) return
    this.#protocol = "late"
    this.#isLogged = true
    if (this.#isEnding) return
    const { event, data } = runningEvent(this.#options.run)
    this.publish(event, data)
  }

  #deliverLogged({ seq, event, data }: LogEvent): void {
    this.#deliver({ seq, event, data: Buffer.from(data) })
  }

  #deliver(item: RunEvent): void {
    const { run, topic } = this.#options
    this.#delivered = item.seq
    topic()?.publish({ runId: run.runId, place: item.seq, ...item })
    // In the same tick: a client that joins after the end finds it in the log.
    if (item.event === "end") this.#over()
  }

  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.detach()
    this.#options.onOver()
  }

  /** Sends the result to clients here. @returns  it as an event, when clients of another server need it */
  #sendResult({ text, isOnlyCopy }: Result): (readonly [string, string])[] {
    const { run, topic: find } = this.#options
    const topic = find()
    if (this.#isWatched && isOnlyCopy) return [[resultEvent, text()]]
    // The result uses up no id: clients of the stream would see a gap.
    if (topic?.wants(resultEvent)) {
      const seq = this.#seq
      topic.publishUnordered({ runId: run.runId, seq, place: seq, event: resultEvent, data: Buffer.from(text()) })
    }
    return []
  }

  #untilRead(): Promise<void> | undefined {
    const topic = this.#options.topic()
    if (topic === undefined || topic.slow.size === 0) return undefined
    this.#waiting ??= this.#waitFor(topic).finally(() => {
      this.#waiting = undefined
    })
    return this.#waiting
  }

  async #waitFor({ slow }: Topic): Promise<void> {
    const startedAt = performance.now()
    const timeout = new AbortController()
    const read = Promise.all(slow.values()).then(() => true)
    const late = sleep(Math.min(maxWaitMs, this.#slowReaderBudgetMs), false, { signal: timeout.signal }).catch(
      () => false,
    )
    const isRead = await Promise.race([read, late])
    timeout.abort()
    this.#slowReaderBudgetMs = Math.max(0, this.#slowReaderBudgetMs - (performance.now() - startedAt))
    if (isRead || this.#isDetached) return
    this.#isLogged = true
    this.#options.onLoggedForSlow()
  }
}
