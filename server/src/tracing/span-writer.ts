/**
 * Writes the spans of runs to the database, many in one statement, some times a second.
 *
 * No run waits for it. It holds a limited number of bytes: spans that come while it is full are dropped, and so are those of a statement
 * that fails (T2). `close` writes the rest.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { toJsonText } from "@superstep/toolkit/http/json"
import type { Log } from "@superstep/toolkit/log/log"
import { firstSeq } from "../events/event.js"
import type { ObservedRun, RunObserver } from "../runs/observer.js"
import type { Claim } from "../runs/run.js"
import type { TracePart } from "../workers/port.js"
import { type NewSpan, putSpans } from "./queries.js"

// Long enough that many short runs share a statement.
const writeEveryMs = 200
// A statement with more takes so long that another one should have its turn.
const maxStatementBytes = 4 * 1024 * 1024
// What waits while the database is slow, for all runs of this server.
const maxWaitingBytes = 64 * 1024 * 1024

export class SpanWriter {
  readonly observer: RunObserver = { started: (claim) => this.#observe(claim) }
  readonly #db: Db
  readonly #log: Log
  /** By run and place: a span that has ended replaces the same one from before. */
  #waiting = new Map<string, NewSpan>()
  #waitingBytes = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #isDropping = false

  constructor({ db, log }: { readonly db: Db; readonly log: Log }) {
    this.#db = db
    this.#log = log
  }

  /** Resolves when every span that has come so far is written, or dropped. */
  async settled(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#writeAll())
    await this.#writing
  }

  close(): Promise<void> {
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
      const added = { runId, seq, span: toJsonText(span), content: contents[n]?.toString() ?? "" }
      const key = `${runId} ${seq}`
      this.#waitingBytes += bytesOf(added) - bytesOf(this.#waiting.get(key))
      this.#waiting.set(key, added)
    })
    this.#timer ??= setTimeout(() => void this.settled(), writeEveryMs).unref()
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      const batch = this.#takeBatch()
      try {
        await putSpans(this.#db, batch)
        this.#isDropping = false
      } catch (err) {
        this.#drop("they could not be written", { err })
      }
    }
  }

  #takeBatch(): NewSpan[] {
    const batch: NewSpan[] = []
    let bytes = 0
    for (const [key, span] of this.#waiting) {
      if (bytes > maxStatementBytes) break
      bytes += bytesOf(span)
      batch.push(span)
      this.#waiting.delete(key)
    }
    this.#waitingBytes -= bytes
    return batch
  }

  /** Says it once, until spans are written again. */
  #drop(reason: string, fields: { readonly err?: unknown }): void {
    if (!this.#isDropping) this.#log.warn({ ...fields, reason }, "parts of traces were dropped")
    this.#isDropping = true
  }
}

const bytesOf = (span: NewSpan | undefined): number => (span === undefined ? 0 : span.span.length + span.content.length)
