/** The queue: waiting and running runs of all threads. An extension of Superstep. */
import { jsonResponse, RawJson } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { z } from "zod"
import { callerOf } from "../http/caller-of.js"
import { pageHeaders, pageQueryFields } from "../http/pagination.js"
import { jsonObject, uuid } from "../http/parameters.js"
import type { Runs } from "./parts.js"
import { waitReasons } from "./queue-entry.js"
import { readQueue } from "./queue-operations.js"
import { multitaskStrategies } from "./run.js"

const queueQuery = z.object({
  ...pageQueryFields,
  status: z
    .enum(["pending", "running"])
    .default("pending")
    .describe("`pending`: runs that wait, in the order in which they will start; `running`: runs that execute"),
  run_id: uuid.optional().describe("Only this run"),
})

const queuedRun = z
  .object({
    run_id: z.string(),
    thread_id: z.string(),
    assistant_id: z.string(),
    graph_id: z.string(),
    status: z.enum(["pending", "running"]),
    attempt: z.int().describe("Attempts so far; 0 before the first one"),
    multitask_strategy: z.enum(multitaskStrategies),
    metadata: jsonObject,
    created_at: z.string(),
    since: z.string().describe("Since when it waits, or since when its present attempt executes"),
    position: z.int().nullable().describe("From 1, among the waiting runs that the caller may see; null with `run_id`"),
    wait: z
      .object({
        reason: z.enum(waitReasons),
        message: z.string().describe("The reason as a sentence"),
        run_id: z.string().nullable().describe("The run of the same thread that must end first"),
        until: z.string().nullable().describe("When a scheduled run becomes due"),
      })
      .nullable()
      .describe("Why it does not start; null for a running run"),
  })
  .meta({ id: "QueuedRun" })

export function addQueueRoutes(api: Api, runs: Runs): void {
  addRoute(api, {
    method: "get",
    path: "/queue",
    summary: "List the runs of all threads that wait, with the reason, or that execute",
    tags: ["Runs"],
    query: queueQuery,
    responses: {
      200: {
        description: "The runs of this page; their number is in X-Pagination-Total",
        schema: z.array(queuedRun),
      },
      422: { description: "Invalid input" },
    },
    handle: async ({ c, query: { run_id: runId, ...page } }) => {
      const { runs: found, total } = await readQueue(runs, callerOf(c), { ...page, runId })
      const items = found.map(({ row, position, wait }) => ({
        run_id: row.run_id,
        thread_id: row.thread_id,
        assistant_id: row.assistant_id,
        graph_id: row.graph_id,
        status: row.status,
        attempt: row.attempt,
        multitask_strategy: row.multitask_strategy,
        metadata: new RawJson(row.metadata),
        created_at: row.created_at,
        since: row.since,
        position,
        wait,
      }))
      return jsonResponse(items, 200, pageHeaders(page, total))
    },
  })
}
