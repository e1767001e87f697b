/** HTTP for events of a deployment, a workspace or all workspaces: a page, or a stream of new ones. */
import { z } from "@hono/zod-openapi"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { requireOperator } from "../access/authenticate.js"
import { type StreamedEvent, sendEvents, wantsStream } from "../http/event-stream.js"
import { uuid } from "../http/fields.js"
import { followEvents } from "./follow.js"
import { listEvents } from "./operations.js"
import type { EventFilter } from "./queries.js"
import { allEventsQuery, eventsQuery, eventsReply, lastEventId, renderEvent } from "./schema.js"

export interface EventRoutes {
  readonly db: Database
  /** @throws NotFound  the workspace has no such deployment */
  readonly findDeployment: (db: Db, workspaceId: string, deploymentId: string) => Promise<unknown>
  /** Ends every stream. */
  readonly stopping: AbortSignal
}

const responses = { 200: { description: "a page of events, or a stream of them", schema: eventsReply } }
const malformed = { 422: { description: "a parameter or Last-Event-ID is malformed" } }

export function addEventRoutes(api: Api, options: EventRoutes): void {
  addRoute(api, {
    method: "get",
    path: "/v2/deployments/{deployment_id}/events",
    summary: "Lists the events of a deployment, or streams them as server-sent events.",
    params: z.object({ deployment_id: uuid }),
    query: eventsQuery,
    responses: { ...responses, 404: { description: "the workspace has no such deployment" }, ...malformed },
    handle: async ({ c, params, query }) => {
      const filter = { workspaceId: c.get("caller").workspaceId, deploymentId: params.deployment_id }
      await options.findDeployment(options.db, filter.workspaceId, filter.deploymentId)
      return answer(options, c, filter, query)
    },
  })
  addRoute(api, {
    method: "get",
    path: "/v2/events",
    summary:
      "Lists the events of the workspace, or for an operator of all workspaces, or streams them as server-sent events.",
    query: allEventsQuery,
    responses: {
      ...responses,
      403: { description: "all_workspaces requires a key of the installation" },
      ...malformed,
    },
    handle: async ({ c, query }) => {
      if (query.all_workspaces) requireOperator(c, "events of all workspaces")
      const filter = query.all_workspaces ? {} : { workspaceId: c.get("caller").workspaceId }
      return answer(options, c, filter, query)
    },
  })
}

async function answer(
  { db, stopping }: EventRoutes,
  c: Context,
  filter: EventFilter,
  query: z.output<typeof eventsQuery>,
): Promise<Response> {
  const lastId = knownId(c)
  if (wantsStream(c, query.follow)) {
    const after = lastId ?? query.cursor ?? 0
    return sendEvents(c, {
      stopping,
      check: c.get("checkCaller"),
      events: (signal) => streamed(db, filter, { after, signal }),
    })
  }
  const asked = { order: query.order ?? "desc", cursor: query.cursor, limit: query.limit ?? 20 }
  const { events, nextCursor } = await listEvents(db, filter, asked)
  return c.json({ resources: events.map(renderEvent), next_cursor: nextCursor })
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
