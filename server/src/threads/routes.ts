import type { Database } from "@superstep/toolkit/db/database"
import { jsonResponse } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Workers } from "../workers/port.js"
import { createThread, getThread, getThreadState } from "./operations.js"
import { newThread, stateQuery, thread, threadParams, threadState } from "./schema.js"
import { renderThread } from "./thread.js"

export function addThreadRoutes(api: Api, { db, workers }: { db: Database; workers: Workers }): void {
  const tags = ["Threads"]
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
    async ({ body }) => {
      const row = await createThread(db, {
        threadId: body.thread_id ?? undefined,
        metadata: body.metadata ?? {},
        ifExists: body.if_exists ?? "raise",
      })
      return jsonResponse(renderThread(row))
    },
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
}
