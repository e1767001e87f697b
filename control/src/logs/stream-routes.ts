/** HTTP for following logs: `text/event-stream`, one event per line, with the line's id (control-plane §1.9). */
import { z } from "@hono/zod-openapi"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { longAnswerHeaders } from "@superstep/toolkit/http/long-answer"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { holds } from "../http/event-stream.js"
import { uuid } from "../http/fields.js"
import type { Follower, LiveLogs } from "./live-logs.js"
import { readLog } from "./operations.js"
import { type LineFilter, type LogRow, newestLine } from "./queries.js"
import { findLog, type Logs } from "./routes.js"
import { eventStream, renderLine, streamQuery } from "./schema.js"

export interface LogStreamRoutes extends Logs {
  readonly liveLogs: LiveLogs
}

const responses = {
  200: { description: "lines as they are printed", schema: eventStream, contentType: "text/event-stream" },
  404: { description: "the workspace has no such deployment, or the deployment no such revision" },
  422: { description: "a parameter or Last-Event-ID is malformed" },
} as const

const defaultTail = 100

export function addLogStreamRoutes(api: Api, options: LogStreamRoutes): void {
  addRoute(api, {
    method: "get",
    path: "/v2/deployments/{deployment_id}/logs/stream",
    summary: "Streams the log of a deployment's builds and units, of all revisions.",
    params: z.object({ deployment_id: uuid }),
    query: streamQuery,
    responses,
    handle: ({ c, params, query }) =>
      stream(c, options, { deploymentId: params.deployment_id, ...filterOf(query) }, query),
  })
  addRoute(api, {
    method: "get",
    path: "/v2/deployments/{deployment_id}/revisions/{revision_id}/logs/stream",
    summary: "Streams the log of a revision's build and units.",
    params: z.object({ deployment_id: uuid, revision_id: uuid }),
    query: streamQuery,
    responses,
    handle: ({ c, params, query }) => {
      const scope = { deploymentId: params.deployment_id, revisionId: params.revision_id }
      return stream(c, options, { ...scope, ...filterOf(query) }, query)
    },
  })
}

type Query = z.output<typeof streamQuery>

const filterOf = ({ type, level, query, run_id, hide_platform }: Query): Omit<LineFilter, "deploymentId"> => ({
  stream: type,
  level,
  query,
  runId: run_id,
  hidesPlatform: hide_platform,
})

async function stream(
  c: Context,
  { liveLogs, ...logs }: LogStreamRoutes,
  filter: LineFilter,
  { tail = defaultTail, last_event_id }: Query,
): Promise<Response> {
  const { db } = logs
  const { workspaceId } = c.get("caller")
  await findLog(logs, workspaceId, filter)
  const lastId = lineIdOf(c.req.header("last-event-id") || last_event_id)
  // Read before the tail: a line that arrives in between is then in the tail, or comes after this id.
  const newest = await newestLine(db, filter.deploymentId)
  const past =
    lastId === undefined && tail > 0
      ? (await readLog(db, { ...filter, workspaceId, order: "desc", limit: tail })).rows.toReversed()
      : []
  const after = lastId ?? Math.max(past.at(-1)?.log_line_id ?? 0, newest)
  const follower = await liveLogs.follow(filter, after)
  const isAllowed = async () => {
    await c.get("checkCaller")()
    await findLog(logs, workspaceId, filter)
  }
  return c.body(eventsOf(past, follower, isAllowed), 200, {
    "content-type": "text/event-stream",
    ...longAnswerHeaders,
  })
}

function lineIdOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  const message = "expected the id of an event of this stream"
  throw new InvalidInput([{ path: ["header", "Last-Event-ID"], message, type: "value_error" }])
}

// After every 5 s of silence, as the agent server does (decisions, agent server 4).
const heartbeatMs = 5000
// After a key is revoked or a deployment deleted, its streams end within this time.
const recheckMs = 30_000

/** Reads nothing from the table before the client has taken what it was sent: `pull` is called when there is room. */
function eventsOf(
  past: readonly LogRow[],
  follower: Follower,
  isAllowed: () => Promise<void>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let isCancelled = false
  let checkAt = performance.now() + recheckMs
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(encoder.encode(`: logs\n\n${past.map(eventOf).join("")}`)),
      pull: async (controller) => {
        const rows = await follower.next(heartbeatMs)
        const isOver = rows === undefined || (performance.now() > checkAt && !(await holds(isAllowed)))
        if (isCancelled) return
        if (isOver) {
          follower.close()
          controller.close()
          return
        }
        if (performance.now() > checkAt) checkAt = performance.now() + recheckMs
        controller.enqueue(encoder.encode(rows.length === 0 ? ": heartbeat\n\n" : rows.map(eventOf).join("")))
      },
      cancel: () => {
        isCancelled = true
        follower.close()
      },
    },
    { highWaterMark: 1 },
  )
}

const eventOf = (row: LogRow): string =>
  `event: log\nid: ${row.log_line_id}\ndata: ${JSON.stringify(renderLine(row))}\n\n`
