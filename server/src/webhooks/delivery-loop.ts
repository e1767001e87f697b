/**
 * Calls webhooks when they are due: after a run's end, of which a notification tells, and again after a failure. It
 * sleeps on one timer until the next one is due, and looks once in a while in case a notification was lost. What is under
 * way when it stops is due again at once, for another server or the next start.
 */
import type { Database } from "@superstep/toolkit/db/database"
import type { Subscription } from "@superstep/toolkit/db/listen"
import type { Log } from "@superstep/toolkit/log/log"
import { isDelivered, isHopeless, retryDelayMs } from "@superstep/toolkit/webhooks/retry"
import type { CallResult } from "@superstep/toolkit/webhooks/send"
import { webhookHeaders } from "@superstep/toolkit/webhooks/signature"
import { payloadText } from "./payload.js"
import {
  type Delivery,
  deleteOldDeliveries,
  nextDeliveryMs,
  recordTry,
  type TryResult,
  takeDueDeliveries,
} from "./queries.js"
import { delaysMs } from "./retry.js"
import { type CallOwnRoute, callWebhook } from "./send.js"
import type { WebhookSettings } from "./settings.js"

export interface DeliveryOptions {
  readonly db: Database
  readonly log: Log
  readonly settings: WebhookSettings
  /** The revision this server belongs to; only one that may execute runs delivers. */
  readonly revisionId: string | null
  readonly callOwnRoute?: CallOwnRoute
  /** For a whole call, in milliseconds. */
  readonly timeoutMs?: number
}

const usualTimeoutMs = 15_000

// Receivers are waited for nearly all the time; a slow one should not keep the others from hearing.
const atATime = 16

const sweepMs = 60_000

// After a failure of our own, such as a database that is away.
const ownRetryMs = 5_000

// How long what was delivered, or given up, can be read and delivered again.
const keptDays = 7
const forgetEveryMs = 3_600_000

export class DeliveryLoop {
  readonly #options: DeliveryOptions
  readonly #calls = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  #subscriptions: Subscription[] = []
  #timer: NodeJS.Timeout | undefined
  #pass: Promise<void> | undefined
  #isWoken = false
  #forgetAt = 0

  constructor(options: DeliveryOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { db, settings } = this.#options
    if (settings.isDisabled) return
    const wake = () => this.wake()
    this.#subscriptions = await Promise.all([
      db.listen("webhooks_due", wake, wake),
      db.listen("serving_changed", wake, wake),
    ])
    this.wake()
  }

  /** Something may be due: looks now, or once more when it is looking already. */
  wake(): void {
    this.#isWoken = true
    if (this.#stopping.signal.aborted) return
    this.#pass ??= this.#takeAll().finally(() => {
      this.#pass = undefined
      if (this.#isWoken) this.wake()
    })
  }

  /** Calls nobody any more; resolves when what was under way is written. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    clearTimeout(this.#timer)
    await Promise.all(this.#subscriptions.map((subscription) => subscription.close()))
    await this.#pass
    await Promise.all(this.#calls)
  }

  async #takeAll(): Promise<void> {
    const { db, revisionId, log, timeoutMs = usualTimeoutMs } = this.#options
    let sleepMs = sweepMs
    try {
      while (this.#isWoken && !this.#stopping.signal.aborted) {
        this.#isWoken = false
        const limit = atATime - this.#calls.size
        // The end of a call looks again.
        if (limit === 0) break
        const taken = await takeDueDeliveries(db, { revisionId, limit, holdMs: 2 * timeoutMs })
        for (const delivery of taken) this.#track(this.#deliver(delivery))
        if (taken.length === limit) this.#isWoken = true
      }
      await this.#forgetOld()
      sleepMs = Math.min(sleepMs, (await nextDeliveryMs(db, revisionId)) ?? sleepMs)
    } catch (err) {
      sleepMs = ownRetryMs
      log.warn({ err }, "webhooks that are due could not be read")
    }
    this.#sleep(sleepMs)
  }

  async #forgetOld(): Promise<void> {
    if (performance.now() < this.#forgetAt) return
    this.#forgetAt = performance.now() + forgetEveryMs
    await deleteOldDeliveries(this.#options.db, keptDays)
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { db, log, settings, callOwnRoute, timeoutMs = usualTimeoutMs } = this.#options
    const sentAt = new Date()
    const body = payloadText(delivery, sentAt)
    const headers = headersFor(settings, delivery.run_id, sentAt, body)
    const { signal } = this.#stopping
    const call = { url: delivery.url, headers, body, rules: settings, callOwnRoute, timeoutMs, signal }
    const result = await callWebhook(call)
    const tried = afterTry(delivery, result, signal.aborted)
    await recordTry(db, tried)
    const { state, replyStatus: reply_status, failure } = tried
    const fields = { run_id: delivery.run_id, tries: delivery.tries, reply_status, failure }
    // Until now the loop slept to the end of the time for which the call was held.
    if (state === "pending") this.wake()
    if (state === "delivered") log.info(fields, "webhook delivered")
    else log.warn(fields, state === "dead" ? "a webhook was given up" : "a webhook will be called again")
  }

  #track(call: Promise<void>): void {
    // What could not be written is tried again when its time to be held is over.
    const told = call.catch((err: unknown) => this.#options.log.warn({ err }, "a webhook's end could not be written"))
    this.#calls.add(told)
    void told.then(() => {
      const wasFull = this.#calls.size === atATime
      this.#calls.delete(told)
      if (wasFull) this.wake()
    })
  }

  #sleep(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#stopping.signal.aborted) return
    this.#timer = setTimeout(() => this.wake(), Math.max(1, ms))
    this.#timer.unref()
  }
}

const headersFor = ({ headers, signingSecret }: WebhookSettings, id: string, sentAt: Date, body: string) => ({
  ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()])),
  "content-type": "application/json",
  "content-length": String(Buffer.byteLength(body)),
  "user-agent": "superstep-webhook",
  ...webhookHeaders({ id, sentAt, body }, signingSecret?.reveal()),
})

/** What follows from a try. */
function afterTry({ run_id, tries }: Delivery, { status, reply, error }: CallResult, isStopping: boolean): TryResult {
  const result = { runId: run_id, tries, replyStatus: status, reply, failure: failureOf(status, error) }
  if (status !== undefined && isDelivered(status)) return { ...result, state: "delivered", againMs: undefined }
  if (status === undefined && isStopping) return { ...result, state: "pending", againMs: 0 }
  const againMs = isHopeless(status) ? undefined : retryDelayMs(delaysMs, tries, Math.random())
  return { ...result, state: againMs === undefined ? "dead" : "pending", againMs }
}

function failureOf(status: number | undefined, error: string | undefined): string | undefined {
  if (status === undefined) return error
  if (status >= 300 && status < 400) return "it answered with a redirect, which is not followed"
  return isDelivered(status) ? undefined : `it answered ${status}`
}
