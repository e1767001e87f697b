/** Tells the ends of runs to the webhooks that ask for them. Only a server that may execute runs does so. */
import type { Database } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import { OutboxLoop, usualTimeoutMs } from "@superstep/toolkit/webhooks/outbox-loop"
import { delaysOfHalfADayMs, judgeTry } from "@superstep/toolkit/webhooks/retry"
import { webhookHeaders } from "@superstep/toolkit/webhooks/signature"
import { payloadText } from "./payload.js"
import { type Delivery, deleteOldDeliveries, nextDeliveryMs, recordTry, takeDueDeliveries } from "./queries.js"
import { type CallOwnRoute, callWebhook } from "./send.js"
import type { WebhookSettings } from "./settings.js"

export interface DeliveryOptions {
  readonly db: Database
  readonly log: Log
  readonly settings: WebhookSettings
  /** The revision this server belongs to. */
  readonly revisionId: string | null
  readonly callOwnRoute?: CallOwnRoute
  /** For a whole call, in milliseconds. */
  readonly timeoutMs?: number
}

// How long what was delivered, or given up, can be read and delivered again.
const keptDays = 7
const forgetEveryMs = 3_600_000

/** @returns a loop that was not started; undefined when the settings turn webhooks off */
export function createDeliveryLoop(options: DeliveryOptions): OutboxLoop<Delivery> | undefined {
  const { db, log, settings, revisionId, timeoutMs } = options
  if (settings.isDisabled) return undefined
  let forgetAt = 0
  const afterLook = async () => {
    if (performance.now() < forgetAt) return
    forgetAt = performance.now() + forgetEveryMs
    await deleteOldDeliveries(db, keptDays)
  }
  const outbox = {
    name: "webhooks",
    channels: ["webhooks_due", "serving_changed"],
    take: (asked: { limit: number; holdMs: number }) => takeDueDeliveries(db, { revisionId, ...asked }),
    nextMs: () => nextDeliveryMs(db, revisionId),
    deliver: (delivery: Delivery, signal: AbortSignal) => deliver(options, delivery, signal),
    afterLook,
  }
  return new OutboxLoop({ db, log, outbox, timeoutMs })
}

async function deliver(options: DeliveryOptions, delivery: Delivery, signal: AbortSignal): Promise<boolean> {
  const { db, log, settings, callOwnRoute, timeoutMs = usualTimeoutMs } = options
  const { run_id, tries, url } = delivery
  const sentAt = new Date()
  const body = payloadText(delivery, sentAt)
  const headers = headersFor(settings, run_id, sentAt, body)
  const result = await callWebhook({ url, headers, body, rules: settings, callOwnRoute, timeoutMs, signal })
  const { status: replyStatus, reply } = result
  const verdict = judgeTry(result, { delaysMs: delaysOfHalfADayMs, tries, isStopping: signal.aborted })
  const { state, failure } = verdict
  await recordTry(db, { runId: run_id, tries, replyStatus, reply, ...verdict })
  const fields = { run_id, tries, reply_status: replyStatus, failure }
  if (state === "delivered") log.info(fields, "webhook delivered")
  else log.warn(fields, state === "dead" ? "a webhook was given up" : "a webhook will be called again")
  return state === "pending"
}

const headersFor = ({ headers, signingSecret }: WebhookSettings, id: string, sentAt: Date, body: string) => ({
  ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()])),
  "content-type": "application/json",
  "content-length": String(Buffer.byteLength(body)),
  "user-agent": "superstep-webhook",
  ...webhookHeaders({ id, sentAt, body }, signingSecret?.reveal()),
})
