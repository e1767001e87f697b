/** Routes that create runs in the background, and that read, stop and delete runs (agent-server-api §6.5). */
import { jsonResponse } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { z } from "zod"
import { callerOf } from "../http/caller-of.js"
import { toResponse } from "../idempotency/once.js"
import { addCreatingRoutes, answerOf, createAllOnce, createOnce, failures, type RunRoutes } from "./creating-routes.js"
import { cancelRun, getRun } from "./operations.js"
import {
  cancelManyBody,
  cancelManyQuery,
  cancelQuery,
  deleteQuery,
  listedRun,
  listQuery,
  newRuns,
  onlySelected,
  renderRun,
  run,
  runParams,
  threadParams,
} from "./schema.js"
import { cancelRuns, deleteRun, listRuns } from "./thread-operations.js"

const tags = ["Runs"]
const noRun = { 404: { description: "No such run" }, 422: { description: "Invalid input" } }

export function addRunRoutes(api: Api, runs: RunRoutes): void {
  addBackgroundRoutes(api, runs)
  addReadingRoutes(api, runs)
  addStoppingRoutes(api, runs)
}

function addBackgroundRoutes(api: Api, runs: RunRoutes): void {
  addCreatingRoutes(api, {
    end: "",
    summary: { onThread: "Create a background run", stateless: "Create a stateless background run" },
    ok: { description: "The run", schema: run },
    answer: async (request, body) => {
      const made = await createOnce(runs, request, { body })
      if ("answer" in made) return toResponse(made.answer, true)
      return toResponse(answerOf(made.row, request.threadId === undefined), false)
    },
  })
  addRoute(api, {
    method: "post",
    path: "/runs/batch",
    summary: "Create stateless background runs, all or none",
    tags,
    body: newRuns,
    responses: { 200: { description: "The runs, in order", schema: z.array(run) }, ...failures },
    handle: async ({ c, body, bodyText }) => {
      const { answer, isRepeated } = await createAllOnce(runs, { c, bodyText }, body)
      return toResponse(answer, isRepeated)
    },
  })
}

function addReadingRoutes(api: Api, runs: RunRoutes): void {
  addRoute(api, {
    method: "get",
    path: "/threads/{thread_id}/runs",
    summary: "List the runs of a thread, newest first",
    tags,
    params: threadParams,
    query: listQuery,
    responses: {
      200: { description: "The runs", schema: z.array(listedRun) },
      404: { description: "No such thread" },
      422: { description: "Invalid input" },
    },
    handle: async ({ c, params, query: { select, ...query } }) => {
      const has = (field: "metadata" | "kwargs") => select === undefined || select.includes(field)
      const rows = await listRuns(runs, callerOf(c), {
        threadId: params.thread_id,
        limit: query.limit,
        offset: query.offset,
        status: query.status,
        metadata: query.metadata,
        withMetadata: has("metadata"),
        withKwargs: has("kwargs"),
      })
      return jsonResponse(rows.map((row) => onlySelected(renderRun(row), select)))
    },
  })
  addRoute(api, {
    method: "get",
    path: "/threads/{thread_id}/runs/{run_id}",
    summary: "Get a run",
    tags,
    params: runParams,
    responses: { 200: { description: "The run", schema: run }, ...noRun },
    handle: async ({ c, params }) => {
      const named = { caller: callerOf(c), threadId: params.thread_id, runId: params.run_id }
      return jsonResponse(renderRun(await getRun(runs, named)))
    },
  })
}

function addStoppingRoutes(api: Api, runs: RunRoutes): void {
  addRoute(api, {
    method: "post",
    path: "/threads/{thread_id}/runs/{run_id}/cancel",
    summary: "Cancel a run",
    lasts: "long",
    tags,
    params: runParams,
    query: cancelQuery,
    responses: {
      202: { description: "The run was asked to stop" },
      204: { description: "The run is over (with wait)" },
      ...noRun,
    },
    handle: async ({ c, params, query: { wait, action, reason } }) => {
      await cancelRun(runs, {
        caller: callerOf(c),
        threadId: params.thread_id,
        runId: params.run_id,
        action,
        wait,
        signal: c.req.raw.signal,
        ...(reason === "taken" && { reason: "taken: another client continues the thread" }),
      })
      return new Response(null, { status: wait ? 204 : 202 })
    },
  })
  addRoute(api, {
    method: "post",
    path: "/runs/cancel",
    summary: "Cancel all runs of a status, or some of a thread",
    lasts: "long",
    tags,
    query: cancelManyQuery,
    body: cancelManyBody,
    responses: {
      204: { description: "The runs were asked to stop" },
      404: { description: "No run matches" },
      422: { description: "Invalid input" },
    },
    handle: async ({ c, query, body }) => {
      await cancelRuns(runs, callerOf(c), body, query.action)
      return new Response(null, { status: 204 })
    },
  })
  addRoute(api, {
    method: "delete",
    path: "/threads/{thread_id}/runs/{run_id}",
    summary: "Delete a run and its checkpoints",
    lasts: "long",
    tags,
    params: runParams,
    query: deleteQuery,
    responses: {
      204: { description: "The run is gone" },
      409: { description: "The run is not over, or another run starts from its checkpoint" },
      ...noRun,
    },
    handle: async ({ c, params, query }) => {
      const named = { caller: callerOf(c), threadId: params.thread_id, runId: params.run_id }
      await deleteRun(runs, { ...named, isForced: query.force, signal: c.req.raw.signal })
      return new Response(null, { status: 204 })
    },
  })
}
