/** The format of requests for events and of their replies. */
import { z } from "@hono/zod-openapi"
import { optionalParameter, trueOrFalse, wholeNumber } from "../http/fields.js"
import { type Event, eventTypes } from "./event.js"

const cursor = wholeNumber({ min: 0, max: 999_999_999_999 })

export const eventsQuery = z.object({
  limit: optionalParameter(wholeNumber({ min: 1, max: 100 })).openapi({ type: "integer", default: 20 }),
  cursor: optionalParameter(cursor).openapi({ type: "string", description: "next_cursor of the previous page" }),
  order: optionalParameter(z.enum(["asc", "desc"])).openapi({
    description: "asc, or desc (default): newest first",
  }),
  follow: optionalParameter(trueOrFalse).openapi({
    description:
      "true, or Accept: text/event-stream: a stream of the stored events after Last-Event-ID, followed by new events",
  }),
})

export const allEventsQuery = eventsQuery.extend({
  all_workspaces: optionalParameter(trueOrFalse).openapi({
    description: "true: events of all workspaces; requires a key of the installation",
  }),
})

/** @returns  undefined when the client has no event yet; null when it is not the number of an event */
export function lastEventId(header: string | undefined): number | undefined | null {
  if (header === undefined || header === "") return undefined
  const parsed = cursor.safeParse(header)
  return parsed.success ? parsed.data : null
}

const eventReply = z
  .object({
    id: z.string(),
    seq: z.int().openapi({ description: "increases with time; the id of the event in a stream" }),
    type: z.enum(eventTypes),
    workspace_id: z.string().nullable().openapi({ description: "null: of the installation, for operators" }),
    deployment_id: z.string().nullable(),
    revision_id: z.string().nullable(),
    data: z.record(z.string(), z.unknown()),
    created_at: z.iso.datetime(),
  })
  .openapi("Event")

export const eventsReply = z.object({
  resources: z.array(eventReply),
  next_cursor: z.string().nullable().openapi({
    description: "in ascending order it also serves for future events; in descending order null on the last page",
  }),
})

export const renderEvent = (event: Event) => ({
  id: event.event_id,
  seq: event.seq,
  type: event.type,
  workspace_id: event.workspace_id,
  deployment_id: event.deployment_id,
  revision_id: event.revision_id,
  data: event.data,
  created_at: event.created_at,
})
