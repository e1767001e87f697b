import { jsonResponse } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { parseLastEventId } from "../events/event.js"
import type { Wanted } from "../events/event-filter.js"
import { EventResponse } from "../events/event-response.js"
import type { Subscriber } from "../events/run-stream.js"
import { cancelRun, createRun, getRun, joinRun, type Runs } from "./operations.js"
import { renderRun } from "./request.js"
import {
  cancelQuery,
  eventStream,
  joinQuery,
  type NewRunBody,
  newRun,
  run,
  runParams,
  streamQuery,
  threadParams,
} from "./schema.js"

const tags = ["Runs"]
const streamed = { description: "The run's events", schema: eventStream, contentType: "text/event-stream" }
export const failures = {
  404: { description: "No such thread or assistant" },
  409: { description: "The thread is busy" },
  422: { description: "Invalid input" },
}

export function addRunRoutes(api: Api, runs: Runs): void {
  addRoute(
    api,
    {
      method: "post",
      path: "/threads/{thread_id}/runs",
      summary: "Create a background run",
      tags,
      params: threadParams,
      body: newRun,
      responses: { 200: { description: "The run", schema: run }, ...failures },
    },
    async ({ params, body }) => {
      const row = await createRun(runs, { threadId: params.thread_id, body })
      return jsonResponse(renderRun(row), 200, { "content-location": locationOf(row) })
    },
  )
  addRoute(
    api,
    {
      method: "post",
      path: "/threads/{thread_id}/runs/stream",
      summary: "Create a run and stream its events",
      tags,
      params: threadParams,
      query: streamQuery,
      body: newRun,
      responses: { 200: streamed, ...failures },
    },
    ({ c, params, query, body }) =>
      streamNewRun(runs, c, { threadId: params.thread_id, body, namespaces: query.namespace }),
  )
  addRoute(
    api,
    {
      method: "post",
      path: "/runs/stream",
      summary: "Create a stateless run and stream its events",
      tags,
      query: streamQuery,
      body: newRun,
      responses: { 200: streamed, ...failures },
    },
    ({ c, query, body }) => streamNewRun(runs, c, { threadId: undefined, body, namespaces: query.namespace }),
  )
  addRoute(
    api,
    {
      method: "post",
      path: "/runs",
      summary: "Create a stateless background run",
      tags,
      body: newRun,
      responses: { 200: { description: "The run", schema: run }, ...failures },
    },
    async ({ body }) => {
      const row = await createRun(runs, { threadId: undefined, body })
      return jsonResponse(renderRun(row), 200, { "content-location": `/runs/${row.run_id}` })
    },
  )
  addRunReadRoutes(api, runs)
}

function addRunReadRoutes(api: Api, runs: Runs): void {
  addRoute(
    api,
    {
      method: "get",
      path: "/threads/{thread_id}/runs/{run_id}",
      summary: "Get a run",
      tags,
      params: runParams,
      responses: { 200: { description: "The run", schema: run }, 404: { description: "No such run" } },
    },
    async ({ params }) => jsonResponse(renderRun(await getRun(runs, params.thread_id, params.run_id))),
  )
  addRoute(
    api,
    {
      method: "get",
      path: "/threads/{thread_id}/runs/{run_id}/stream",
      summary: "Join a run's stream",
      tags,
      params: runParams,
      query: joinQuery,
      responses: { 200: streamed, 404: { description: "No such run" } },
    },
    async ({ c, params: { thread_id: threadId, run_id: runId }, query }) => {
      const wanted = { modes: query.stream_mode, namespaces: query.namespace }
      const subscriber = new EventResponse(c, wanted)
      const after = parseLastEventId(c.req.header("last-event-id"))
      const joining = orAbandon(subscriber, () => joinRun(runs, { threadId, runId, subscriber, after }))
      // The past may be longer than its reader is quick: the rest of it follows behind the reply's headers.
      await Promise.race([joining, subscriber.hasPlenty])
      joining.catch((err: Error) => {
        runs.log.warn({ err, run_id: runId }, "the past of a run could not be sent to its end")
        subscriber.break(err)
      })
      const leave = () => leaveRun(runs, { threadId, runId, subscriber, cancel: query.cancel_on_disconnect })
      return subscriber.respond(c, { location: streamPath({ threadId, runId }, wanted) }, leave)
    },
  )
  addRoute(
    api,
    {
      method: "post",
      path: "/threads/{thread_id}/runs/{run_id}/cancel",
      summary: "Cancel a run",
      tags,
      params: runParams,
      query: cancelQuery,
      responses: {
        202: { description: "The run was asked to stop" },
        204: { description: "The run is over (with wait)" },
        404: { description: "No such run" },
      },
    },
    async ({ c, params, query }) => {
      const { wait, action } = query
      const { signal } = c.req.raw
      await cancelRun(runs, { threadId: params.thread_id, runId: params.run_id, action, wait, signal })
      return new Response(null, { status: wait ? 204 : 202 })
    },
  )
}

interface NewStream {
  readonly threadId: string | undefined
  readonly body: NewRunBody
  readonly namespaces: readonly string[] | undefined
}

async function streamNewRun(runs: Runs, c: Context, { threadId, body, namespaces }: NewStream): Promise<Response> {
  const subscriber = new EventResponse(c, { namespaces })
  const row = await orAbandon(subscriber, () => createRun(runs, { threadId, body, subscriber }))
  const ids = { threadId: row.thread_id, runId: row.run_id }
  const cancel = body.on_disconnect === "cancel"
  // A stateless run can be joined by nobody once it is over, so its client gets no place to come back to.
  const stream = threadId === undefined ? {} : { location: streamPath(ids, { namespaces }) }
  const location = threadId === undefined ? `/runs/${ids.runId}` : locationOf(row)
  return subscriber.respond(c, { "content-location": location, ...stream }, () =>
    leaveRun(runs, { ...ids, subscriber, cancel }),
  )
}

/** Where a client comes back to, with what it wants: the Python SDK asks for nothing but this path again. */
function streamPath(ids: { threadId: string; runId: string }, { modes = [], namespaces = [] }: Wanted): string {
  const query = new URLSearchParams([
    ...modes.map((mode): [string, string] => ["stream_mode", mode]),
    ...namespaces.map((namespace): [string, string] => ["namespace", namespace]),
  ])
  return `/threads/${ids.threadId}/runs/${ids.runId}/stream${query.size > 0 ? `?${query}` : ""}`
}

/** A relative path: behind the edge the SDKs put it after their own base address (control-plane §6.9). */
export const locationOf = (row: { thread_id: string; run_id: string }) => `/threads/${row.thread_id}/runs/${row.run_id}`

async function orAbandon<T>(subscriber: EventResponse, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    subscriber.abandon()
    throw error
  }
}

interface Leaving {
  readonly threadId: string
  readonly runId: string
  readonly subscriber: Subscriber
  readonly cancel: boolean
}

/** A client that follows a run goes away before its end. */
export function leaveRun(runs: Runs, { threadId, runId, subscriber, cancel }: Leaving): void {
  runs.streams.unsubscribe(runId, subscriber)
  if (!cancel) return
  cancelRun(runs, { threadId, runId, action: "interrupt", wait: false }).catch((err: unknown) =>
    runs.log.warn({ err, run_id: runId }, "a run whose client left could not be cancelled"),
  )
}
