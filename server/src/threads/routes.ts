import type { Database } from "@superstep/toolkit/db/database"
import { jsonResponse } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { z } from "zod"
import { once } from "../idempotency/once.js"
import type { Workers } from "../workers/port.js"
import { createThread, getThread, getThreadHistory, getThreadState } from "./operations.js"
import { historyBody, historyQuery, newThread, stateQuery, thread, threadParams, threadState } from "./schema.js"
import { renderThread } from "./thread.js"

const tags = ["Threads"]

export function addThreadRoutes(api: Api, { db, workers }: { db: Database; workers: Workers }): void {
  addRoute(
    api,
    {
      method: "post",
      path: "/threads",
      summary: "Create a thread",
      tags,
      body: newThread,
      responses: {
        200: { description: "The thread", schema: thread },
        409: { description: "The id is taken" },
        422: { description: "Invalid input" },
      },
    },
    async ({ c, body, bodyText }) =>
      once(db, { c, bodyText }, async (tx) => {
        const row = await createThread(tx, {
          threadId: body.thread_id ?? undefined,
          metadata: body.metadata ?? {},
          ifExists: body.if_exists ?? "raise",
        })
        return jsonResponse(renderThread(row))
      }),
  )
  addRoute(
    api,
    {
      method: "get",
      path: "/threads/{thread_id}",
      summary: "Get a thread",
      tags,
      params: threadParams,
      responses: { 200: { description: "The thread", schema: thread }, 404: { description: "No such thread" } },
    },
    async ({ params }) => jsonResponse(renderThread(await getThread(db, params.thread_id))),
  )
  addRoute(
    api,
    {
      method: "get",
      path: "/threads/{thread_id}/state",
      summary: "Get the latest state of a thread",
      tags,
      params: threadParams,
      query: stateQuery,
      responses: { 200: { description: "The state", schema: threadState }, 404: { description: "No such thread" } },
    },
    async ({ params, query }) => jsonResponse(await getThreadState({ db, workers }, params.thread_id, query)),
  )
  addHistoryRoutes(api, { db, workers })
}

function addHistoryRoutes(api: Api, parts: { db: Database; workers: Workers }): void {
  const spec = {
    path: "/threads/{thread_id}/history",
    tags,
    params: threadParams,
    responses: {
      200: { description: "The states, newest first", schema: z.array(threadState) },
      404: { description: "No such thread" },
    },
  }
  addRoute(
    api,
    { ...spec, method: "get", summary: "Get past states of a thread", query: historyQuery },
    async ({ params, query: { limit, before } }) =>
      jsonResponse(
        await getThreadHistory(parts, params.thread_id, { limit, before, filter: undefined, checkpointNs: "" }),
      ),
  )
  addRoute(
    api,
    { ...spec, method: "post", summary: "Search the past states of a thread", body: historyBody },
    async ({ params, body: { limit, before, metadata, checkpoint } }) => {
      const [filter, checkpointNs] = [metadata ?? undefined, checkpoint?.checkpoint_ns ?? ""]
      const query = { limit, before: before ?? undefined, filter, checkpointNs }
      return jsonResponse(await getThreadHistory(parts, params.thread_id, query))
    },
  )
}
