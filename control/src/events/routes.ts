/** HTTP for a deployment's events: a page of them, or a stream that goes on. */
import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { findDeployment } from "../deployments/operations.js"
import { type StreamedEvent, sendEvents, wantsStream } from "../http/event-stream.js"
import { uuid } from "../http/fields.js"
import { findCaller } from "../workspaces/operations.js"
import { followEvents } from "./follow.js"
import { listEvents } from "./operations.js"
import type { EventFilter } from "./queries.js"
import { eventsQuery, eventsReply, lastEventId, renderEvent } from "./schema.js"

export interface EventRoutes {
  readonly db: Database
  /** Ends every stream. */
  readonly stopping: AbortSignal
}

export function addEventRoutes(api: Api, { db, stopping }: EventRoutes): void {
  addRoute(
    api,
    {
      method: "get",
      path: "/v2/deployments/{deployment_id}/events",
      summary: "Lists what happened to a deployment, or follows it by server-sent events.",
      params: z.object({ deployment_id: uuid }),
      query: eventsQuery,
      responses: {
        200: { description: "a page of events, or a stream of them", schema: eventsReply },
        404: { description: "the workspace has no such deployment" },
        422: { description: "a parameter or Last-Event-ID is malformed" },
      },
    },
    async ({ c, params, query }) => {
      const filter = { workspaceId: c.get("caller").workspaceId, deploymentId: params.deployment_id }
      const lastId = knownId(c)
      await findDeployment(db, filter.workspaceId, filter.deploymentId)
      if (wantsStream(c, query.follow)) {
        const after = lastId ?? query.cursor ?? 0
        return sendEvents(c, {
          stopping,
          check: () => findCaller(db, c.req.header("x-api-key"), c.req.header("x-tenant-id")),
          events: (signal) => streamed(db, filter, { after, signal }),
        })
      }
      const asked = { order: query.order ?? "desc", cursor: query.cursor, limit: query.limit ?? 20 }
      const { events, nextCursor } = await listEvents(db, filter, asked)
      return c.json({ resources: events.map(renderEvent), next_cursor: nextCursor })
    },
  )
}

async function* streamed(
  db: Database,
  filter: EventFilter,
  from: { after: number; signal: AbortSignal },
): AsyncGenerator<StreamedEvent> {
  for await (const event of followEvents(db, filter, from)) {
    yield { id: String(event.seq), event: event.type, data: renderEvent(event) }
  }
}

function knownId(c: Context): number | undefined {
  const id = lastEventId(c.req.header("last-event-id"))
  if (id !== null) return id
  const path = ["header", "Last-Event-ID"]
  throw new InvalidInput([{ path, message: "expected the id of an event of this stream", type: "value_error" }])
}
