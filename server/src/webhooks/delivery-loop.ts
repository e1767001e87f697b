/** Delivers webhooks of ended runs. Only servers of the active revision deliver. */
import type { Database } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import { OutboxLoop, usualTimeoutMs } from "@superstep/toolkit/webhooks/outbox-loop"
import { delaysOfHalfADayMs, resultOfTry } from "@superstep/toolkit/webhooks/retry"
import { webhookHeaders } from "@superstep/toolkit/webhooks/signature"
import { payloadText } from "./payload.js"
import { type Delivery, deleteOldDeliveries, nextDeliveryMs, recordTry, takeDueDeliveries } from "./queries.js"
import { type CallOwnRoute, callWebhook } from "./send.js"
import type { WebhookSettings } from "./settings.js"

export interface DeliveryOptions {
  readonly db: Database
  readonly log: Log
  readonly settings: WebhookSettings
  /** The revision of this server. */
  readonly revisionId: string | null
  readonly callOwnRoute?: CallOwnRoute
  /** Time limit of a call, in milliseconds. */
  readonly timeoutMs?: number
}

// How long delivered and dead deliveries can be read and delivered again.
const keptDays = 7
const deleteEveryMs = 3_600_000

/** @returns a loop that is not started yet; undefined when webhooks are disabled */
export function createDeliveryLoop(options: DeliveryOptions): OutboxLoop<Delivery> | undefined {
  const { db, log, settings, revisionId, timeoutMs } = options
  if (settings.isDisabled) return undefined
  let deleteAt = 0
  const afterLook = async () => {
    if (performance.now() < deleteAt) return
    deleteAt = performance.now() + deleteEveryMs
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
  const verdict = resultOfTry(result, { delaysMs: delaysOfHalfADayMs, tries, isStopping: signal.aborted })
  const { state, failure } = verdict
  await recordTry(db, { runId: run_id, tries, replyStatus, reply, ...verdict })
  const fields = { run_id, tries, reply_status: replyStatus, failure }
  if (state === "delivered") log.info(fields, "webhook delivered")
  else
    log.warn(
      fields,
      state === "dead" ? "a webhook delivery has failed for good" : "a webhook delivery failed and will be retried",
    )
  return state === "pending"
}

const headersFor = ({ headers, signingSecret }: WebhookSettings, id: string, sentAt: Date, body: string) => ({
  ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()])),
  "content-type": "application/json",
  "content-length": String(Buffer.byteLength(body)),
  "user-agent": "superstep-webhook",
  ...webhookHeaders({ id, sentAt, body }, signingSecret?.reveal()),
})
