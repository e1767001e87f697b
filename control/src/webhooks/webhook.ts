/** Defines a webhook, an address that gets a workspace's events, and the content of its calls. Pure. */
import { randomBytes } from "node:crypto"
import { delaysOfHalfADayMs } from "@superstep/toolkit/webhooks/retry"
import type { Event, EventType } from "../events/event.js"

export interface Webhook {
  readonly webhook_id: string
  readonly workspace_id: string
  readonly url: string
  readonly description: string | null
  /** Empty: all of them. */
  readonly event_types: readonly EventType[]
  /** It gets events of all workspaces; only operators see it. */
  readonly all_workspaces: boolean
  readonly created_at: Date
}

/** The caller: an operator's webhooks are hidden from others. */
export interface WebhookOwner {
  readonly workspaceId: string
  readonly isOperator: boolean
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
  /** The receiver's last answer, or why there is none. */
  readonly reply_status: number | null
  readonly failure: string | null
}

/** 256 random bits, in the format of Standard Webhooks. */
export const newSigningSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`

/** The body of a call: the same text for every try, since it is signed. */
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

// One try more than for the end of a run: a receiver that is repaired within a day gets every event.
export const delaysMs: readonly number[] = [...delaysOfHalfADayMs, 10 * hour]
