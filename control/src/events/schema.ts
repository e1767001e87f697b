/** What requests for events and their replies look like. */
import { z } from "@hono/zod-openapi"
import { optionalParameter, trueOrFalse, wholeNumber } from "../http/fields.js"
import { type Event, eventTypes } from "./event.js"

const cursor = wholeNumber({ min: 0, max: 999_999_999_999 })

export const eventsQuery = z.object({
  limit: optionalParameter(wholeNumber({ min: 1, max: 100 })).openapi({ type: "integer", default: 20 }),
  cursor: optionalParameter(cursor).openapi({ type: "string", description: "next_cursor of the page before" }),
  order: optionalParameter(z.enum(["asc", "desc"])).openapi({
    description: "desc, the default, begins with the newest",
  }),
  follow: optionalParameter(trueOrFalse).openapi({
    description:
      "true, or Accept: text/event-stream: a stream of what is kept, after Last-Event-ID, and then of what happens",
  }),
})

/** @returns undefined when the client knows nothing yet; null when it is no number of an event */
export function lastEventId(header: string | undefined): number | undefined | null {
  if (header === undefined || header === "") return undefined
  const parsed = cursor.safeParse(header)
  return parsed.success ? parsed.data : null
}

const eventReply = z
  .object({
    id: z.string(),
    seq: z.int().openapi({ description: "rises with time; the id of the stream's events" }),
    type: z.enum(eventTypes),
    deployment_id: z.string().nullable(),
    revision_id: z.string().nullable(),
    data: z.record(z.string(), z.unknown()),
    created_at: z.iso.datetime(),
  })
  .openapi("Event")

export const eventsReply = z.object({
  resources: z.array(eventReply),
  next_cursor: z.string().nullable().openapi({
    description: "upwards it stays good for events that are yet to come; downwards null at the end",
  }),
})

export const renderEvent = (event: Event) => ({
  id: event.event_id,
  seq: event.seq,
  type: event.type,
  deployment_id: event.deployment_id,
  revision_id: event.revision_id,
  data: event.data,
  created_at: event.created_at,
})
