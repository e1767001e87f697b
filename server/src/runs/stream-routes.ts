/** Routes whose answer is a run's stream (agent-server-api §7). */
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { anyone, type Caller } from "../auth/caller.js"
import { parseLastEventId } from "../events/event.js"
import type { Wanted } from "../events/event-filter.js"
import { EventResponse } from "../events/event-response.js"
import type { Subscriber } from "../events/run-stream.js"
import { callerOf } from "../http/caller-of.js"
import {
  type CreatingRequest,
  createOnce,
  failures,
  locationOf,
  type RunIdentity,
  type RunRoutes,
} from "./creating-routes.js"
import { joinRun, type Runs, requireMayStop, stopRun, threadOfRun } from "./operations.js"
import { repeatedRun } from "./repeated-run.js"
import {
  eventStream,
  joinQuery,
  type NewRunBody,
  newRun,
  runIdParams,
  runParams,
  streamQuery,
  threadParams,
} from "./schema.js"

const tags = ["Runs"]
const streamed = { description: "The run's events", schema: eventStream, contentType: "text/event-stream" }
const noRun = { 404: { description: "No such run" }, 422: { description: "Invalid input" } }

export function addStreamRoutes(api: Api, runs: RunRoutes): void {
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
    ({ c, params, query, body, bodyText }) =>
      streamNewRun(runs, { c, bodyText, threadId: params.thread_id }, { body, namespaces: query.namespace }),
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
    ({ c, query, body, bodyText }) =>
      streamNewRun(runs, { c, bodyText, threadId: undefined }, { body, namespaces: query.namespace }),
  )
  const joined = { tags, query: joinQuery, responses: { 200: streamed, ...noRun } }
  addRoute(
    api,
    {
      ...joined,
      method: "get",
      path: "/threads/{thread_id}/runs/{run_id}/stream",
      summary: "Join a run's stream",
      params: runParams,
    },
    ({ c, params, query }) =>
      streamJoined(runs, c, {
        caller: callerOf(c),
        threadId: params.thread_id,
        runId: params.run_id,
        wanted: { modes: query.stream_mode, namespaces: query.namespace },
        cancel: query.cancel_on_disconnect,
        after: parseLastEventId(c.req.header("last-event-id")),
      }),
  )
  addRoute(
    api,
    {
      ...joined,
      method: "get",
      path: "/runs/{run_id}/stream",
      summary: "Join the stream of a run whose thread the client does not know",
      params: runIdParams,
    },
    async ({ c, params, query }) =>
      streamJoined(runs, c, {
        caller: callerOf(c),
        threadId: await threadOfRun(runs, params.run_id),
        runId: params.run_id,
        wanted: { modes: query.stream_mode, namespaces: query.namespace },
        cancel: query.cancel_on_disconnect,
        after: parseLastEventId(c.req.header("last-event-id")),
      }),
  )
}

interface JoinRequest {
  readonly caller: Caller
  readonly threadId: string
  readonly runId: string
  readonly wanted: Wanted
  readonly cancel: boolean
  readonly after: number | undefined
  readonly headers?: Readonly<Record<string, string>>
}

async function streamJoined(runs: Runs, c: Context, request: JoinRequest): Promise<Response> {
  const { caller, threadId, runId, wanted, cancel, after, headers } = request
  // Who may only read a run must not stop it by leaving.
  if (cancel) await requireMayStop(runs, { caller, threadId, runId, action: "interrupt" })
  const subscriber = new EventResponse(c, wanted, { budget: runs.streams.readers })
  const joining = orAbandon(subscriber, () => joinRun(runs, { caller, threadId, runId, subscriber, after }))
  // The past may be longer than its reader is quick: the rest of it follows behind the reply's headers.
  await Promise.race([joining, subscriber.hasPlenty])
  joining.catch((err: Error) => {
    runs.log.warn({ err, run_id: runId }, "the past of a run could not be sent to its end")
    subscriber.break(err)
  })
  const leave = () => leaveRun(runs, { threadId, runId, subscriber, cancel })
  const location = streamPath({ thread_id: threadId, run_id: runId }, wanted)
  return subscriber.respond(c, { location, ...headers }, leave)
}

async function streamNewRun(
  runs: RunRoutes,
  request: CreatingRequest,
  { body, namespaces }: { body: NewRunBody; namespaces: readonly string[] | undefined },
): Promise<Response> {
  const { c, threadId } = request
  const wanted = { namespaces }
  const subscriber = new EventResponse(c, wanted, { budget: runs.streams.readers })
  const made = await orAbandon(subscriber, () => createOnce(runs, request, { body, subscriber }))
  const cancel = body.on_disconnect === "cancel"
  if ("answer" in made) {
    subscriber.abandon()
    const { run, headers } = await repeatedRun(runs, made.answer)
    const after = parseLastEventId(c.req.header("last-event-id")) ?? -1
    const ids = { threadId: run.thread_id, runId: run.run_id }
    return streamJoined(runs, c, { ...ids, caller: anyone, wanted, cancel, after, headers })
  }
  const { row } = made
  const ids = { threadId: row.thread_id, runId: row.run_id }
  // A stateless run can be joined by nobody once it is over, so its client gets no place to come back to.
  const stream = threadId === undefined ? {} : { location: streamPath(row, wanted) }
  const location = threadId === undefined ? `/runs/${ids.runId}` : locationOf(row)
  return subscriber.respond(c, { "content-location": location, ...stream }, () =>
    leaveRun(runs, { ...ids, subscriber, cancel }),
  )
}

/** Where a client comes back to, with what it wants: the Python SDK asks for nothing but this path again. */
function streamPath(run: RunIdentity, { modes = [], namespaces = [] }: Wanted): string {
  const query = new URLSearchParams([
    ...modes.map((mode): [string, string] => ["stream_mode", mode]),
    ...namespaces.map((namespace): [string, string] => ["namespace", namespace]),
  ])
  return `${locationOf(run)}/stream${query.size > 0 ? `?${query}` : ""}`
}

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
  const reason = "its client disconnected"
  stopRun(runs, { threadId, runId, action: "interrupt", wait: false, reason }).catch((err: unknown) =>
    runs.log.warn({ err, run_id: runId }, "a run whose client left could not be cancelled"),
  )
}
