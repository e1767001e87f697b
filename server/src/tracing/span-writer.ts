/**
 * Writes the spans of runs to the database, many in one statement, some times a second.
 *
 * No run waits for it. It holds a limited number of bytes: spans that come while it is full are dropped, and so are those of a statement
 * that fails (T2).
 */
import type { Db } from "@superstep/toolkit/db/database"
import { toJsonText } from "@superstep/toolkit/http/json"
import type { Log } from "@superstep/toolkit/log/log"
import { firstSeq } from "../events/event.js"
import type { ObservedRun, RunObserver } from "../runs/observer.js"
import type { Claim } from "../runs/run.js"
import type { TracePart } from "../workers/port.js"
import { type NewSpan, putSpans } from "./queries.js"
import { withoutMessage } from "./trace-setting.js"

// Long enough that many short runs share a statement.
const writeEveryMs = 200
// A statement with more takes so long that another one should have its turn.
const maxStatementBytes = 4 * 1024 * 1024
// What waits while the database is slow, for all runs of this server.
const maxWaitingBytes = 64 * 1024 * 1024

export interface SpanWriterOptions {
  readonly db: Db
  readonly log: Log
  /** Whether what went in and out is kept, and messages of errors, which may quote it. */
  readonly hasContent: boolean
}

export class SpanWriter {
  readonly observer: RunObserver = { started: (claim) => this.#observe(claim) }
  readonly #db: Db
  readonly #log: Log
  readonly #hasContent: boolean
  /** By run and place: a span that has ended replaces the same one from before. */
  #waiting = new Map<string, NewSpan>()
  #waitingBytes = 0
  #timer: NodeJS.Timeout | undefined
  /** The statements that are being executed. */
  #round: Promise<void> | undefined
  /** Begins when `#round` is over; only while a caller of `settled` waits for it. */
  #nextRound: Promise<void> | undefined
  #isDropping = false
  #isClosed = false

  constructor({ db, log, hasContent }: SpanWriterOptions) {
    this.#db = db
    this.#log = log
    this.#hasContent = hasContent
  }

  /** Resolves when every span that had come at the call is written, or dropped. Callers share a round of statements. */
  settled(): Promise<void> {
    if (this.#nextRound) return this.#nextRound
    if (!this.#round) return this.#startRound()
    // The round that is being written may lack what came after its begin.
    this.#nextRound = this.#round.then(() => {
      this.#nextRound = undefined
      return this.#startRound()
    })
    return this.#nextRound
  }

  /** Writes the rest. If that fails once, drops it: the server must stop although the database is away. */
  close(): Promise<void> {
    this.#isClosed = true
    return this.settled()
  }

  #observe({ runId, attempt, deletesThread }: Claim): ObservedRun {
    const first = firstSeq(attempt)
    // Of a stateless run nothing is left at its end.
    const spans = deletesThread ? {} : { spans: (part: TracePart) => this.#take(runId, first, part) }
    return { firstEvent: () => undefined, ended: () => undefined, ...spans }
  }

  #take(runId: string, first: number, { spans, contents }: TracePart): void {
    spans.forEach((span, n) => {
      if (this.#waitingBytes > maxWaitingBytes) {
        this.#drop("too many wait for the database", {})
        return
      }
      const seq = first + span.number
      const header = toJsonText(this.#hasContent ? span : withoutMessage(span))
      const added = { runId, seq, span: header, content: contents[n]?.toString() ?? "" }
      const key = `${runId} ${seq}`
      this.#waitingBytes += bytesOf(added) - bytesOf(this.#waiting.get(key))
      this.#waiting.set(key, added)
    })
    this.#startTimer()
  }

  #startTimer(): void {
    if (this.#isClosed || this.#round || this.#waiting.size === 0) return
    this.#timer ??= setTimeout(() => void this.#startRound(), writeEveryMs).unref()
  }

  #startRound(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#round = this.#writeWaiting().finally(() => {
      this.#round = undefined
      this.#startTimer()
    })
    return this.#round
  }

  /** Writes what waits at the call: what comes meanwhile is behind it, and belongs to the next round. */
  async #writeWaiting(): Promise<void> {
    for (let left = this.#waiting.size; left > 0; ) {
      const batch = this.#takeBatch(left)
      left -= batch.length
      try {
        await putSpans(this.#db, batch)
        if (this.#waiting.size === 0) this.#isDropping = false
      } catch (err) {
        this.#drop("they could not be written", { err })
        if (!this.#isClosed) continue
        this.#waiting.clear()
        this.#waitingBytes = 0
        return
      }
    }
  }

  #takeBatch(most: number): NewSpan[] {
    const batch: NewSpan[] = []
    let bytes = 0
    for (const [key, span] of this.#waiting) {
      if (bytes > maxStatementBytes || batch.length === most) break
      bytes += bytesOf(span)
      batch.push(span)
      this.#waiting.delete(key)
    }
    this.#waitingBytes -= bytes
    return batch
  }

  /** Logs it once, until all that waited is written. */
  #drop(reason: string, fields: { readonly err?: unknown }): void {
    if (!this.#isDropping) this.#log.warn({ ...fields, reason }, "parts of traces were dropped")
    this.#isDropping = true
  }
}

const bytesOf = (span: NewSpan | undefined): number => (span === undefined ? 0 : span.span.length + span.content.length)
