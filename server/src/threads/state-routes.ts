/** Routes for the state of threads: the newest, at a checkpoint, the history, and updates. */
import { jsonResponse } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { z } from "zod"
import { callerOf } from "../http/caller-of.js"
import { missing, tags } from "./routes.js"
import { threadParams } from "./schema.js"
import {
  getThreadHistory,
  getThreadState,
  newestState,
  type ThreadStates,
  updateThreadState,
} from "./state-operations.js"
import {
  historyBody,
  historyQuery,
  stateAtCheckpoint,
  stateParams,
  stateQuery,
  stateUpdate,
  threadState,
  updatedState,
} from "./state-schema.js"

export function addThreadStateRoutes(api: Api, parts: ThreadStates): void {
  addReadRoutes(api, parts)
  addHistoryRoutes(api, parts)
  addRoute(api, {
    method: "post",
    path: "/threads/{thread_id}/state",
    summary: "Change the state of a thread",
    lasts: "long",
    tags,
    params: threadParams,
    body: stateUpdate,
    responses: {
      200: { description: "The new checkpoint", schema: updatedState },
      400: { description: "The thread's graph is unknown" },
      409: { description: "A run of the thread is pending or running" },
      ...missing,
    },
    handle: async ({ c, params, body: { values, as_node, checkpoint, checkpoint_id } }) => {
      const place = checkpoint ?? newestState
      const update = { values: values ?? null, as_node }
      const request = {
        ...place,
        // `checkpoint` takes precedence over `checkpoint_id` (agent-server-api §5.11).
        checkpointId: place.checkpointId ?? checkpoint_id ?? undefined,
        supersteps: [{ updates: [update] }],
      }
      return jsonResponse({ checkpoint: await updateThreadState(parts, callerOf(c), params.thread_id, request) })
    },
  })
}

function addReadRoutes(api: Api, parts: ThreadStates): void {
  const responses = { 200: { description: "The state", schema: threadState }, ...missing }
  addRoute(api, {
    method: "get",
    path: "/threads/{thread_id}/state",
    summary: "Get the latest state of a thread",
    lasts: "long",
    tags,
    params: threadParams,
    query: stateQuery,
    responses,
    handle: async ({ c, params, query }) =>
      jsonResponse(await getThreadState(parts, callerOf(c), params.thread_id, { ...newestState, ...query })),
  })
  addRoute(api, {
    method: "get",
    path: "/threads/{thread_id}/state/{checkpoint_id}",
    summary: "Get the state of a thread at a checkpoint",
    lasts: "long",
    tags,
    params: stateParams,
    query: stateQuery,
    responses,
    handle: async ({ c, params, query }) => {
      const place = { ...newestState, checkpointId: params.checkpoint_id }
      return jsonResponse(await getThreadState(parts, callerOf(c), params.thread_id, { ...place, ...query }))
    },
  })
  addRoute(api, {
    method: "post",
    path: "/threads/{thread_id}/state/checkpoint",
    summary: "Get the state of a thread at a checkpoint, also of a subgraph",
    lasts: "long",
    tags,
    params: threadParams,
    body: stateAtCheckpoint,
    responses,
    handle: async ({ c, params, body: { checkpoint, ...question } }) =>
      jsonResponse(await getThreadState(parts, callerOf(c), params.thread_id, { ...checkpoint, ...question })),
  })
}

function addHistoryRoutes(api: Api, parts: ThreadStates): void {
  const spec = {
    path: "/threads/{thread_id}/history",
    lasts: "long" as const,
    tags,
    params: threadParams,
    responses: { 200: { description: "The states, newest first", schema: z.array(threadState) }, ...missing },
  }
  addRoute(api, {
    ...spec,
    method: "get",
    summary: "Get past states of a thread",
    query: historyQuery,
    handle: async ({ c, params, query: { limit, before, checkpoint_ns: checkpointNs = "", select } }) => {
      const question = { ...newestState, checkpointNs, limit, before, filter: undefined, select }
      return jsonResponse(await getThreadHistory(parts, callerOf(c), params.thread_id, question))
    },
  })
  addRoute(api, {
    ...spec,
    method: "post",
    summary: "Search the past states of a thread",
    body: historyBody,
    handle: async ({ c, params, body: { limit, before, metadata, checkpoint, select } }) => {
      const place = checkpoint ?? newestState
      const question = { ...place, limit, before: before ?? undefined, filter: metadata ?? undefined, select }
      return jsonResponse(await getThreadHistory(parts, callerOf(c), params.thread_id, question))
    },
  })
}
