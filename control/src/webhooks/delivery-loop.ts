/** Delivers events to the webhooks of their workspace (W2). */
import type { Database } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import { OutboxLoop, usualTimeoutMs } from "@superstep/toolkit/webhooks/outbox-loop"
import { resultOfTry } from "@superstep/toolkit/webhooks/retry"
import { type CallResult, callHost } from "@superstep/toolkit/webhooks/send"
import { webhookHeaders } from "@superstep/toolkit/webhooks/signature"
import type { MasterKey } from "../secrets/seal.js"
import { type AddressRules, addressProblem, urlProblem } from "./address-rules.js"
import { openSigningSecret } from "./operations.js"
import { type DueDelivery, nextDeliveryMs, recordTry, takeDueDeliveries } from "./queries.js"
import { delaysMs, payloadText } from "./webhook.js"

export interface DeliveryOptions {
  readonly db: Database
  readonly log: Log
  readonly key: MasterKey
  readonly rules: AddressRules
  /** Limit for a whole call, in milliseconds. */
  readonly timeoutMs?: number
}

/** @returns  a loop that is not started yet */
export function createDeliveryLoop(options: DeliveryOptions): OutboxLoop<DueDelivery> {
  const { db, log, timeoutMs } = options
  const outbox = {
    name: "webhooks",
    // Notified by `settle_event` and by replays.
    channels: ["superstep_webhooks"],
    take: (asked: { limit: number; holdMs: number; busy: readonly string[] }) => takeDueDeliveries(db, asked),
    ownerOf: ({ owner_id }: DueDelivery) => owner_id,
    nextMs: () => nextDeliveryMs(db),
    deliver: (delivery: DueDelivery, signal: AbortSignal) => deliver(options, delivery, signal),
  }
  return new OutboxLoop({ db, log, outbox, timeoutMs })
}

async function deliver(options: DeliveryOptions, delivery: DueDelivery, signal: AbortSignal): Promise<boolean> {
  const { db, log } = options
  const { delivery_id, webhook_id, tries } = delivery
  const result = await call(options, delivery, signal)
  const verdict = resultOfTry(result, { delaysMs, tries, isStopping: signal.aborted })
  const { state, failure } = verdict
  await recordTry(db, { deliveryId: delivery_id, tries, replyStatus: result.status, ...verdict })
  const fields = { delivery_id, webhook_id, tries, reply_status: result.status, failure }
  if (state === "delivered") log.debug(fields, "webhook delivered")
  else
    log.info(
      fields,
      state === "dead" ? "a webhook delivery has failed for good" : "a webhook delivery failed and will be retried",
    )
  return state === "pending"
}

/** Checks the rules again: they may have become stricter since the webhook was created. */
async function call(options: DeliveryOptions, delivery: DueDelivery, signal: AbortSignal): Promise<CallResult> {
  const { key, rules, timeoutMs = usualTimeoutMs } = options
  const problem = urlProblem(rules, delivery.url)
  if (problem !== undefined) return { error: problem }
  const body = payloadText(delivery)
  const signed = webhookHeaders(
    { id: delivery.delivery_id, sentAt: new Date(), body },
    openSigningSecret(key, { ...delivery, workspace_id: delivery.owner_id }),
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
    signal,
  })
}
