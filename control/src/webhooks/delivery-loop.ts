/**
 * Calls webhooks when they are due: after an event, of which a notification tells, and again after a failure. It sleeps on
 * one timer until the next one is due, and looks once in a while in case a notification was lost. What is under way when it
 * stops is due again at once; what was under way at a kill, when the time that the call was held is over (W2).
 */
import type { Database } from "@superstep/toolkit/db/database"
import type { Subscription } from "@superstep/toolkit/db/listen"
import type { Log } from "@superstep/toolkit/log/log"
import { isDelivered, isHopeless, retryDelayMs } from "@superstep/toolkit/webhooks/retry"
import { type CallResult, callHost } from "@superstep/toolkit/webhooks/send"
import { webhookHeaders } from "@superstep/toolkit/webhooks/signature"
import type { MasterKey } from "../secrets/seal.js"
import { type AddressRules, addressProblem, urlProblem } from "./address-rules.js"
import { openSigningSecret } from "./operations.js"
import { type DueDelivery, nextDeliveryMs, recordTry, type TryResult, takeDueDeliveries } from "./queries.js"
import { delaysMs, payloadText } from "./webhook.js"

export interface DeliveryOptions {
  readonly db: Database
  readonly log: Log
  readonly key: MasterKey
  readonly rules: AddressRules
  /** For a whole call, in milliseconds. */
  readonly timeoutMs?: number
}

/** Of `settle_event` and of replays. */
const dueChannel = "superstep_webhooks"

const usualTimeoutMs = 15_000

// Receivers are waited for nearly all the time; a slow one should not keep the others from hearing.
const atATime = 16

const sweepMs = 60_000

// After a failure of our own, such as a database that is away.
const ownRetryMs = 5_000

export class DeliveryLoop {
  readonly #options: DeliveryOptions
  readonly #calls = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  #subscription: Subscription | undefined
  #timer: NodeJS.Timeout | undefined
  #pass: Promise<void> | undefined
  #isWoken = false

  constructor(options: DeliveryOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const wake = () => this.wake()
    this.#subscription = await this.#options.db.listen(dueChannel, wake, wake)
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
    await this.#subscription?.close()
    await this.#pass
    await Promise.all(this.#calls)
  }

  async #takeAll(): Promise<void> {
    const { db, log, timeoutMs = usualTimeoutMs } = this.#options
    let sleepMs = sweepMs
    try {
      while (this.#isWoken && !this.#stopping.signal.aborted) {
        this.#isWoken = false
        const limit = atATime - this.#calls.size
        // The end of a call looks again.
        if (limit === 0) break
        const taken = await takeDueDeliveries(db, { limit, holdMs: 2 * timeoutMs })
        for (const delivery of taken) this.#track(this.#deliver(delivery))
        if (taken.length === limit) this.#isWoken = true
      }
      sleepMs = Math.min(sleepMs, (await nextDeliveryMs(db)) ?? sleepMs)
    } catch (err) {
      sleepMs = ownRetryMs
      log.warn({ err }, "webhooks that are due could not be read")
    }
    this.#sleep(sleepMs)
  }

  async #deliver(delivery: DueDelivery): Promise<void> {
    const { db, log } = this.#options
    const tried = afterTry(delivery, await this.#call(delivery), this.#stopping.signal.aborted)
    await recordTry(db, tried)
    const { delivery_id, webhook_id, tries } = delivery
    const fields = { delivery_id, webhook_id, tries, reply_status: tried.replyStatus, failure: tried.failure }
    // Until now the loop slept to the end of the time for which the call was held.
    if (tried.state === "pending") this.wake()
    if (tried.state === "delivered") log.debug(fields, "webhook delivered")
    else log.info(fields, tried.state === "dead" ? "a webhook was given up" : "a webhook will be called again")
  }

  /** The rules are asked again: they may have become stricter since the webhook was made. */
  async #call(delivery: DueDelivery): Promise<CallResult> {
    const { key, rules, timeoutMs = usualTimeoutMs } = this.#options
    const problem = urlProblem(rules, delivery.url)
    if (problem !== undefined) return { error: problem }
    const body = payloadText(delivery)
    const signed = webhookHeaders(
      { id: delivery.delivery_id, sentAt: new Date(), body },
      openSigningSecret(key, delivery),
    )
    return callHost({
      url: delivery.url,
      headers: {
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(body)),
        "user-agent": "superstep-webhook",
        ...signed,
      },
      body,
      guard: (address) => addressProblem(rules, address),
      timeoutMs,
      signal: this.#stopping.signal,
    })
  }

  #track(call: Promise<void>): void {
    // What could not be written is tried again when its time to be held is over.
    const told = call.catch((err: unknown) => this.#options.log.warn({ err }, "a webhook's call could not be finished"))
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

/** What follows from a try. */
function afterTry(delivery: DueDelivery, { status, error }: CallResult, isStopping: boolean): TryResult {
  const { delivery_id: deliveryId, tries } = delivery
  const result = { deliveryId, tries, replyStatus: status, failure: failureOf(status, error) }
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
