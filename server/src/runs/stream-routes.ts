/** Routes whose response is a run's stream (agent-server-api §7). */
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { anyone, type Caller } from "../auth/caller.js"
import { parseLastEventId } from "../events/event.js"
import { eventFilter, type Wanted } from "../events/event-filter.js"
import { EventResponse, orAbandon } from "../events/event-response.js"
import { callerOf } from "../http/caller-of.js"
import {
  addCreatingRoutes,
  type CreatingRequest,
  createOnce,
  joinRepeated,
  locationOf,
  type RunIdentity,
  type RunRoutes,
} from "./creating-routes.js"
import { joinRun, leaveRun, type Runs, requireMayStop, threadOfRun } from "./operations.js"
import { eventStream, joinQuery, type NewRunBody, runIdParams, runParams, streamQuery } from "./schema.js"

const tags = ["Runs"]
const streamed = { description: "The run's events", schema: eventStream, contentType: "text/event-stream" }
const noRun = { 404: { description: "No such run" }, 422: { description: "Invalid input" } }

export function addStreamRoutes(api: Api, runs: RunRoutes): void {
  addCreatingRoutes(api, {
    end: "/stream",
    summary: {
      onThread: "Create a run and stream its events",
      stateless: "Create a stateless run and stream its events",
    },
    lasts: "stream",
    query: streamQuery,
    ok: streamed,
    answer: (request, body, { namespace: namespaces }) => streamNewRun(runs, request, { body, namespaces }),
  })
  const joined = { tags, query: joinQuery, responses: { 200: streamed, ...noRun } }
  addRoute(api, {
    ...joined,
    method: "get",
    path: "/threads/{thread_id}/runs/{run_id}/stream",
    summary: "Join a run's stream",
    lasts: "stream",
    params: runParams,
    handle: ({ c, params, query }) =>
      streamJoined(runs, c, {
        caller: callerOf(c),
        threadId: params.thread_id,
        runId: params.run_id,
        wanted: { modes: query.stream_mode, namespaces: query.namespace },
        cancel: query.cancel_on_disconnect,
        after: parseLastEventId(c.req.header("last-event-id")),
      }),
  })
  addRoute(api, {
    ...joined,
    method: "get",
    path: "/runs/{run_id}/stream",
    summary: "Join the stream of a run whose thread the client does not know",
    lasts: "stream",
    params: runIdParams,
    handle: async ({ c, params, query }) =>
      streamJoined(runs, c, {
        caller: callerOf(c),
        threadId: await threadOfRun(runs, params.run_id),
        runId: params.run_id,
        wanted: { modes: query.stream_mode, namespaces: query.namespace },
        cancel: query.cancel_on_disconnect,
        after: parseLastEventId(c.req.header("last-event-id")),
      }),
  })
}

interface JoinRequest {
  readonly caller: Caller
  readonly threadId: string
  readonly runId: string
  readonly wanted: Wanted
  readonly cancel: boolean
  readonly after: number | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly wantsAll?: boolean
}

async function streamJoined(runs: Runs, c: Context, request: JoinRequest): Promise<Response> {
  const { caller, threadId, runId, wanted, cancel, after, headers, wantsAll = false } = request
  // A caller that may only read a run must not stop it by disconnecting.
  if (cancel) await requireMayStop(runs, { caller, threadId, runId, action: "interrupt" })
  const subscriber = new EventResponse(c, eventFilter(wanted), { budget: runs.streams.readers })
  const joining = orAbandon(subscriber, () => joinRun(runs, { caller, threadId, runId, subscriber, after, wantsAll }))
  // Past events may be more than the client reads at once: send the headers, and the rest afterwards.
  await Promise.race([joining, subscriber.hasPlenty])
  joining.catch((err: Error) => {
    runs.log.warn({ err, run_id: runId }, "the logged events of a run could not be sent completely")
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
  const subscriber = new EventResponse(c, eventFilter(wanted), { budget: runs.streams.readers })
  const made = await orAbandon(subscriber, () => createOnce(runs, request, { body, subscriber }))
  const cancel = body.on_disconnect === "cancel"
  if ("answer" in made) {
    subscriber.abandon()
    const after = parseLastEventId(c.req.header("last-event-id")) ?? -1
    return joinRepeated(made.answer, (run, headers) => {
      const ids = { threadId: run.thread_id, runId: run.run_id }
      return streamJoined(runs, c, { ...ids, caller: anyone, wanted, cancel, after, headers, wantsAll: true })
    })
  }
  const { row } = made
  const ids = { threadId: row.thread_id, runId: row.run_id }
  // A stateless run cannot be joined once it is over, so its client gets no URL to reconnect to.
  const stream = threadId === undefined ? {} : { location: streamPath(row, wanted) }
  const location = threadId === undefined ? `/runs/${ids.runId}` : locationOf(row)
  return subscriber.respond(c, { "content-location": location, ...stream }, () =>
    leaveRun(runs, { ...ids, subscriber, cancel }),
  )
}

/** The path to reconnect to, with the requested modes: the Python SDK repeats only this path. */
function streamPath(run: RunIdentity, { modes = [], namespaces = [] }: Wanted): string {
  const query = new URLSearchParams([
    ...modes.map((mode): [string, string] => ["stream_mode", mode]),
    ...namespaces.map((namespace): [string, string] => ["namespace", namespace]),
  ])
  return `${locationOf(run)}/stream${query.size > 0 ? `?${query}` : ""}`
}
