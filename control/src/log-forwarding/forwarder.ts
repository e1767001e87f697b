/**
 * Sends stored log lines to the operator's sink (README.md, L1 to L6): reads what comes after the cursors, makes one request at
 * a time, and moves the cursors when it was accepted. It owns the two tables of `queries.ts`.
 */
import type { Database } from "@superstep/toolkit/db/database"
import type { Subscription } from "@superstep/toolkit/db/listen"
import { pause } from "@superstep/toolkit/exec/pause"
import type { Log } from "@superstep/toolkit/log/log"
import { type CallResult, callHost } from "@superstep/toolkit/webhooks/send"
import { logsChannel } from "../logs/queries.js"
import { type AddressRules, addressProblem } from "../webhooks/address-rules.js"
import { type Batch, batchOf, lastLines } from "./line.js"
import { rejectedRecords } from "./otlp.js"
import { deploymentsWithUnsent, recordFailure, recordRejected, recordSent, switchOn, unsentLines } from "./queries.js"
import { requestFor, type Sink } from "./sink.js"

export interface ForwarderOptions {
  readonly db: Database
  readonly log: Log
  readonly sink: Sink
  readonly rules: AddressRules
  /** Where a test kills this process. */
  readonly crashPoint?: (name: string) => void
  /** Limit for a whole request, in milliseconds. */
  readonly timeoutMs?: number
  /** Pauses, in milliseconds: after an accepted request that was not full, after the first failure, and at most. */
  readonly pausesMs?: { readonly accepted: number; readonly failed: number; readonly most: number }
}

// Common limits of receivers are 1 MB and above; attributes and JSON come on top of the messages.
const mostBytes = 512 * 1024
const mostLines = 1000
// A chatty deployment does not fill a request alone while others have lines.
const mostOfEach = 250
const deploymentsAtOnce = 50
const usualTimeoutMs = 15_000
// Collects the lines of a second into one request.
const usualPausesMs = { accepted: 1000, failed: 1000, most: 60_000 }
// Finds lines whose notification was lost.
const sweepMs = 60_000
// If it rejects so many lines in a row, it probably rejects all of them, which the operator should know.
const mostDropped = 10

/**
 * The sink can never accept this content (OTLP, "Failures": such a request must not be sent again). Other refusals are about its
 * address, its credentials or its load, which an operator or time corrects: then no line is dropped. Pure.
 */
export const rejectsContent = (status: number | undefined): boolean =>
  status !== undefined && status >= 400 && status < 500 && !aboutTheSink.has(status)
const aboutTheSink = new Set([401, 403, 404, 405, 407, 408, 421, 425, 429])

export class LogForwarder {
  readonly #options: ForwarderOptions
  readonly #stopping = new AbortController()
  /** Deployments that may have unsent lines; the first has waited longest. */
  readonly #pending = new Set<string>()
  #wake: AbortController = new AbortController()
  #isSweepDue = true
  /** Consecutive failures. */
  #failures = 0
  /** Halved while the sink rejects what is in requests, so that only the lines are dropped that it rejects alone. */
  #mostLines = mostLines
  /** Lines that were dropped since the last accepted request. */
  #dropped = 0
  #subscription: Subscription | undefined
  #running: Promise<void> | undefined

  constructor(options: ForwarderOptions) {
    this.#options = options
  }

  /** Starts in the background; a sink that does not answer delays nothing. */
  async start(): Promise<void> {
    const { db } = this.#options
    await switchOn(db)
    const note = (deploymentId: string) => {
      this.#pending.add(deploymentId)
      this.#wake.abort()
    }
    this.#subscription = await db.listen(logsChannel, note, () => this.#sweepSoon())
    this.#running = this.#run()
  }

  /** Resolves when it sends nothing more. A request under way is aborted, and its lines are sent again by the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#wake.abort()
    await this.#subscription?.close()
    await this.#running
  }

  #sweepSoon(): void {
    this.#isSweepDue = true
    this.#wake.abort()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    const { log, pausesMs = usualPausesMs } = this.#options
    while (!signal.aborted) {
      try {
        const { batch, hasMore } = await this.#nextBatch()
        if (batch.lines.length === 0) await this.#untilWoken()
        else if (!(await this.#send(batch))) await pause(backOffMs(this.#failures, pausesMs), signal)
        else if (!hasMore) await pause(pausesMs.accepted, signal)
      } catch (err) {
        // Read again from the cursors: lines that were sent already are sent twice.
        log.warn({ err }, "log lines could not be read for forwarding, or their cursors not stored; it is tried again")
        this.#isSweepDue = true
        await pause(pausesMs.failed, signal)
      }
    }
  }

  async #untilWoken(): Promise<void> {
    if (this.#pending.size === 0 && !this.#isSweepDue && !this.#stopping.signal.aborted) {
      if (await pause(sweepMs, this.#wake.signal)) this.#isSweepDue = true
    }
    this.#wake = new AbortController()
  }

  /** `hasMore`: further lines were waiting at the time of the read. */
  async #nextBatch(): Promise<{ readonly batch: Batch; readonly hasMore: boolean }> {
    const { db } = this.#options
    if (this.#isSweepDue) {
      this.#isSweepDue = false
      for (const id of await deploymentsWithUnsent(db)) this.#pending.add(id)
    }
    const ids = [...this.#pending].slice(0, deploymentsAtOnce)
    // Removed before they are read: a notification during the read adds them again.
    for (const id of ids) this.#pending.delete(id)
    let hasMore = this.#pending.size > 0
    const lines = ids.length === 0 ? [] : await unsentLines(db, ids, mostOfEach)
    const batch = batchOf(lines, { mostLines: this.#mostLines, mostBytes })
    const counts = new Map<string, number>()
    for (const { deployment_id: id } of lines) counts.set(id, (counts.get(id) ?? 0) + 1)
    for (const [id, count] of counts) {
      if (count < mostOfEach && batch.complete.has(id)) continue
      this.#pending.add(id)
      hasMore = true
    }
    return { batch, hasMore }
  }

  /** @returns  whether the sink accepted the lines */
  async #send(batch: Batch): Promise<boolean> {
    const { db, log, sink, rules, crashPoint, timeoutMs = usualTimeoutMs } = this.#options
    const { signal } = this.#stopping
    const guard = (address: string) => addressProblem(rules, address)
    const request = requestFor(sink, batch.lines, new Date())
    const result = await callHost({ ...request, guard, timeoutMs, signal })
    const last = lastLines(batch.lines)
    if (rejectsContent(result.status) && batch.lines.length === 1) {
      await this.#drop(result, last)
      return false
    }
    if (!isAccepted(result)) {
      for (const id of last.keys()) this.#pending.add(id)
      if (!signal.aborted) await this.#noteFailure(result, batch)
      return false
    }
    crashPoint?.("forward:after-send")
    const rejected = sink.format === "otlp" ? rejectedRecords(result.reply ?? "") : { count: 0, message: "" }
    if (rejected.count > 0) log.warn(rejected, "the log sink rejected lines of a request that it accepted")
    const counts = { lines: batch.lines.length, rejected: Math.min(rejected.count, batch.lines.length) }
    await db.transaction((tx) => recordSent(tx, last, counts))
    if (this.#failures > 0)
      log.info({ failures: this.#failures, dropped: this.#dropped }, "the log sink accepts lines again")
    this.#failures = 0
    this.#dropped = 0
    this.#mostLines = Math.min(mostLines, this.#mostLines * 2)
    return true
  }

  /** Leaves out a line that the sink rejects alone; it stays stored. */
  async #drop(result: CallResult, line: ReadonlyMap<string, number>): Promise<void> {
    const { db, log } = this.#options
    this.#failures = 1
    this.#dropped++
    const failure = failureOf(result)
    await db.transaction((tx) => recordRejected(tx, line, this.#dropped < mostDropped ? null : failure))
    const [[deploymentId, lineId] = []] = line
    const fields = { failure, reply: result.reply, deployment_id: deploymentId, line_id: lineId }
    if (this.#dropped === 1) log.warn(fields, "the log sink rejects a line for good: it is not forwarded")
    else log.debug(fields, "the log sink rejects another line for good")
  }

  async #noteFailure(result: CallResult, { lines }: Batch): Promise<void> {
    const { db, log } = this.#options
    const failure = failureOf(result)
    const isFirst = this.#failures === 0
    if (rejectsContent(result.status)) {
      this.#mostLines = Math.max(1, Math.floor(lines.length / 2))
      // The sink is well: the half of the lines follows soon.
      this.#failures = 1
    } else this.#failures++
    const fields = { failure, reply: result.reply, failures: this.#failures }
    if (isFirst) log.warn(fields, "the log sink did not accept lines; they are sent again")
    else log.debug(fields, "the log sink did not accept lines again")
    await recordFailure(db, failure)
  }
}

const isAccepted = ({ status }: CallResult): boolean => status !== undefined && status >= 200 && status < 300

const failureOf = ({ status, error }: CallResult): string =>
  status === undefined ? (error ?? "it gave no answer") : `it answered ${status}`

/** Doubles with each failure, from `failed` to `most`. Pure. */
export const backOffMs = (failures: number, { failed, most }: { failed: number; most: number }): number =>
  Math.min(most, failed * 2 ** Math.min(30, Math.max(0, failures - 1)))
