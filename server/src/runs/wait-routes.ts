/** Routes whose response is a run's result: the request lasts until the run is over (agent-server-api §6.5). */
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { anyone, type Caller } from "../auth/caller.js"
import { ResultResponse } from "../events/result-response.js"
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
import { joinRun, leaveRun, type Runs, requireMayStop } from "./operations.js"
import { resultOfRun } from "./run-result.js"
import { joinQuery, type NewRunBody, runParams, runResult } from "./schema.js"

const tags = ["Runs"]
const result = { description: "The state after the run, or `__error__`", schema: runResult }

export function addWaitRoutes(api: Api, runs: RunRoutes): void {
  addCreatingRoutes(api, {
    end: "/wait",
    summary: {
      onThread: "Create a run and wait for its result",
      stateless: "Create a stateless run and wait for its result",
    },
    lasts: "stream",
    ok: result,
    answer: (request, body) => waitForNewRun(runs, request, body),
  })
  addRoute(api, {
    method: "get",
    path: "/threads/{thread_id}/runs/{run_id}/join",
    summary: "Wait for the result of a run",
    lasts: "stream",
    tags,
    params: runParams,
    query: joinQuery,
    responses: { 200: result, 404: { description: "No such run" } },
    handle: ({ c, params, query }) =>
      waitForJoined(runs, c, { ...params, caller: callerOf(c), cancel: query.cancel_on_disconnect, headers: {} }),
  })
}

interface WaitRequest extends RunIdentity {
  readonly caller: Caller
  readonly cancel: boolean
  readonly headers: Readonly<Record<string, string>>
}

async function waitForJoined(runs: Runs, c: Context, { caller, cancel, headers, ...run }: WaitRequest) {
  const ids = { threadId: run.thread_id, runId: run.run_id }
  // A caller that may only read a run must not stop it by disconnecting.
  if (cancel) await requireMayStop(runs, { ...ids, caller, action: "interrupt" })
  const subscriber = new ResultResponse()
  await joinRun(runs, { ...ids, caller, subscriber, after: undefined })
  return subscriber.respond(
    c,
    { location: joinPath(run), ...headers },
    {
      find: () => resultOfRun(runs, ids.threadId, ids.runId),
      onLeave: () => leaveRun(runs, { ...ids, subscriber, cancel }),
    },
  )
}

async function waitForNewRun(runs: RunRoutes, request: CreatingRequest, body: NewRunBody) {
  const { c, threadId } = request
  const subscriber = new ResultResponse()
  const made = await createOnce(runs, request, { body, subscriber })
  const cancel = body.on_disconnect === "cancel"
  if ("answer" in made)
    return joinRepeated(made.answer, (run, headers) =>
      waitForJoined(runs, c, { ...run, caller: anyone, cancel, headers }),
    )
  const { row } = made
  const ids = { threadId: row.thread_id, runId: row.run_id }
  // As for streams: a stateless run cannot be joined once it is over.
  const headers =
    threadId === undefined
      ? { "content-location": `/runs/${ids.runId}` }
      : { "content-location": locationOf(row), location: joinPath(row) }
  return subscriber.respond(c, headers, {
    find: () => resultOfRun(runs, ids.threadId, ids.runId),
    onLeave: () => leaveRun(runs, { ...ids, subscriber, cancel }),
  })
}

const joinPath = (row: RunIdentity): string => `${locationOf(row)}/join`
