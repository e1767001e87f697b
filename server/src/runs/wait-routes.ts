/** Routes whose answer is a run's result: the request lasts as long as the run (agent-server-api §6.5). */
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { ResultResponse } from "../events/result-response.js"
import { createRun, joinRun, type Runs, resultOfRun } from "./operations.js"
import { failures, leaveRun, locationOf } from "./routes.js"
import { joinQuery, type NewRunBody, newRun, runParams, runResult, threadParams } from "./schema.js"

const tags = ["Runs"]
const result = { description: "The state after the run, or `__error__`", schema: runResult }

export function addWaitRoutes(api: Api, runs: Runs): void {
  addRoute(
    api,
    {
      method: "post",
      path: "/threads/{thread_id}/runs/wait",
      summary: "Create a run and wait for its result",
      tags,
      params: threadParams,
      body: newRun,
      responses: { 200: result, ...failures },
    },
    ({ c, params, body }) => waitForNewRun(runs, c, params.thread_id, body),
  )
  addRoute(
    api,
    {
      method: "post",
      path: "/runs/wait",
      summary: "Create a stateless run and wait for its result",
      tags,
      body: newRun,
      responses: { 200: result, ...failures },
    },
    ({ c, body }) => waitForNewRun(runs, c, undefined, body),
  )
  addRoute(
    api,
    {
      method: "get",
      path: "/threads/{thread_id}/runs/{run_id}/join",
      summary: "Wait for the result of a run",
      tags,
      params: runParams,
      query: joinQuery,
      responses: { 200: result, 404: { description: "No such run" } },
    },
    async ({ c, params: { thread_id: threadId, run_id: runId }, query }) => {
      const subscriber = new ResultResponse()
      await joinRun(runs, { threadId, runId, subscriber, after: undefined })
      const headers = { location: joinPath({ thread_id: threadId, run_id: runId }) }
      return subscriber.respond(c, headers, {
        find: () => resultOfRun(runs, threadId, runId),
        onLeave: () => leaveRun(runs, { threadId, runId, subscriber, cancel: query.cancel_on_disconnect }),
      })
    },
  )
}

async function waitForNewRun(runs: Runs, c: Context, threadId: string | undefined, body: NewRunBody) {
  const subscriber = new ResultResponse()
  const row = await createRun(runs, { threadId, body, subscriber })
  const ids = { threadId: row.thread_id, runId: row.run_id }
  // As for streams: a stateless run can be joined by nobody once it is over.
  const headers =
    threadId === undefined
      ? { "content-location": `/runs/${ids.runId}` }
      : { "content-location": locationOf(row), location: joinPath(row) }
  return subscriber.respond(c, headers, {
    find: () => resultOfRun(runs, ids.threadId, ids.runId),
    onLeave: () => leaveRun(runs, { ...ids, subscriber, cancel: body.on_disconnect === "cancel" }),
  })
}

const joinPath = (row: { thread_id: string; run_id: string }): string => `${locationOf(row)}/join`
