/** The format of requests and replies about webhooks. */
import { z } from "@hono/zod-openapi"
import { eventTypes } from "../events/event.js"
import { optionalParameter, text, uuid, wholeNumber } from "../http/fields.js"
import type { Delivery, Webhook } from "./webhook.js"

export const webhookFields = {
  url: text.openapi({ description: "an http or https address outside of the operator's networks" }),
  event_types: z
    .array(z.enum(eventTypes))
    .max(eventTypes.length)
    .nullish()
    .openapi({ description: "types of events to send; absent or empty: all" }),
  description: text.max(255).nullish(),
  all_workspaces: z
    .boolean()
    .nullish()
    .openapi({ description: "true: events of all workspaces; requires a key of the installation" }),
}
export const webhookBody = z.object(webhookFields)

export const webhookReply = z
  .object({
    id: z.string(),
    url: z.string(),
    description: z.string().nullable(),
    event_types: z.array(z.enum(eventTypes)),
    all_workspaces: z.boolean(),
    created_at: z.iso.datetime(),
  })
  .openapi("Webhook")

export const createdWebhookReply = webhookReply.extend({
  signing_secret: z
    .string()
    .openapi({ description: "whsec_…, in the format of Standard Webhooks; it is not shown again" }),
})

export const renderWebhook = (it: Webhook) => ({
  id: it.webhook_id,
  url: it.url,
  description: it.description,
  event_types: it.event_types,
  all_workspaces: it.all_workspaces,
  created_at: it.created_at,
})

const states = ["pending", "delivered", "dead"] as const

export const deliveriesQuery = z.object({
  limit: optionalParameter(wholeNumber({ min: 1, max: 100 })).openapi({ type: "integer", default: 20 }),
  cursor: optionalParameter(wholeNumber({ min: 0, max: 999_999_999_999 })).openapi({ type: "string" }),
  state: optionalParameter(z.enum(states)),
})

const nullableTime = z.iso.datetime().nullable()

export const deliveriesReply = z.object({
  resources: z.array(
    z
      .object({
        id: z.string().openapi({ description: "the webhook-id header of all its calls" }),
        event_id: z.string(),
        event_type: z.enum(eventTypes),
        state: z.enum(states),
        tries: z.int(),
        next_try_at: nullableTime,
        last_tried_at: nullableTime,
        reply_status: z.int().nullable(),
        failure: z.string().nullable(),
      })
      .openapi("WebhookDelivery"),
  ),
  next_cursor: z.string().nullable(),
})

export const renderDelivery = (it: Delivery) => ({
  id: it.delivery_id,
  event_id: it.event_id,
  event_type: it.event_type,
  state: it.state,
  tries: it.tries,
  next_try_at: it.next_try_at,
  last_tried_at: it.last_tried_at,
  reply_status: it.reply_status,
  failure: it.failure,
})

const time = z.iso.datetime({ offset: true })

const replayFields = {
  event_ids: z.array(uuid).min(1).max(100).nullish(),
  since: time.nullish(),
  until: time.nullish(),
}
export const replayBody = z
  .object(replayFields)
  .refine(({ event_ids, since }) => Boolean(event_ids) || Boolean(since), "expected event_ids or since")

export const replayReply = z.object({
  deliveries: z.int().openapi({ description: "the number of deliveries that are due now" }),
})
