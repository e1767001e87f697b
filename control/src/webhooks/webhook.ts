/** What a webhook is: an address that is told of a workspace's events; and what a call of it carries. Pure. */
import { randomBytes } from "node:crypto"
import { delaysOfHalfADayMs } from "@superstep/toolkit/webhooks/retry"
import type { Event, EventType } from "../events/event.js"

export interface Webhook {
  readonly webhook_id: string
  readonly workspace_id: string
  readonly url: string
  readonly description: string | null
  /** None: all of them. */
  readonly event_types: readonly EventType[]
  readonly created_at: Date
}

export type DeliveryState = "pending" | "delivered" | "dead"

/** An event on its way to a webhook. */
export interface Delivery {
  readonly delivery_id: string
  readonly webhook_id: string
  readonly event_id: string
  readonly event_type: EventType
  readonly state: DeliveryState
  readonly tries: number
  readonly next_try_at: Date | null
  readonly last_tried_at: Date | null
  /** What the receiver answered last, or why there is no answer. */
  readonly reply_status: number | null
  readonly failure: string | null
}

/** 256 random bits, as Standard Webhooks writes them. */
export const newSigningSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`

/** The body of a call: the same text for every try, since it is what is signed. */
export const payloadText = (event: Event): string =>
  JSON.stringify({
    type: event.type,
    timestamp: event.created_at,
    data: {
      id: event.event_id,
      seq: event.seq,
      workspace_id: event.workspace_id,
      deployment_id: event.deployment_id,
      revision_id: event.revision_id,
      ...event.data,
    },
  })

const hour = 3_600_000

// One try more than for the end of a run: a receiver that is repaired within a day hears of everything.
export const delaysMs: readonly number[] = [...delaysOfHalfADayMs, 10 * hour]
