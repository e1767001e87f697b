/** `POST /runs/search`: the runs of all threads, newest first. An extension of Superstep. */
import { jsonResponse } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { z } from "zod"
import { callerOf } from "../http/caller-of.js"
import { pageFields } from "../http/pagination.js"
import { jsonObject, plainText, uuid } from "../http/parameters.js"
import type { Runs } from "./parts.js"
import { runStatuses } from "./run.js"
import { onlySelected, renderRun, run } from "./schema.js"
import { type FoundRun, searchRuns } from "./search-queries.js"

const moment = z.iso.datetime({ offset: true }).transform((text) => new Date(text))
const status = z.enum(runStatuses)
const seconds = z.number().min(0)

/** JavaScript reads 30 February as a day of March, and the year 0, which Postgres has not. */
const isMoment = (text: string): boolean => {
  const moment = new Date(text)
  return (
    !Number.isNaN(moment.getTime()) &&
    moment.toISOString().slice(0, 19) === text.slice(0, 19) &&
    !text.startsWith("0000")
  )
}

/** The end of a page: `created_at` with microseconds, and the id of a run. */
const cursor = z
  .string()
  .regex(
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
    "expected the `next` of a page",
  )
  .refine((text) => isMoment(text.slice(0, 27)), "expected the `next` of a page")
  .transform((text) => ({ createdAt: text.slice(0, 27), runId: text.slice(28) }))

const foundRun = run.extend({
  graph_id: z.string(),
  due_at: z.string().describe("The earliest start: later than created_at for a run with after_seconds"),
  claimed_at: z.string().nullable().describe("When its last attempt began"),
  user_id: z.string().nullable().describe("The `identity` of the caller that asked for it"),
  revision_id: z.string().nullable().describe("The revision that executes, or executed, its last attempt"),
  is_stateless: z
    .boolean()
    .describe("Without a thread of its own: it leaves nothing, also no checkpoint, when it ends"),
})

const runSearch = z.object({
  status: z.union([status, z.array(status).min(1).max(runStatuses.length)]).nullish(),
  thread_id: uuid.nullish(),
  assistant_id: uuid.nullish(),
  graph_id: plainText.nullish(),
  revision_id: plainText.nullish().describe("The revision that executes, or executed, its last attempt"),
  user_id: plainText.nullish().describe("The `identity` of the caller that asked for the run"),
  metadata: jsonObject.nullish().describe("What the run's metadata must contain"),
  error: plainText.max(1000).nullish().describe("Occurs in the name or message of the run's error, in any case"),
  created_after: moment.nullish().describe("Requested at this time or later"),
  created_before: moment.nullish().describe("Requested before this time"),
  min_seconds: seconds.nullish().describe("Took so long from when it was due until its end, or until now"),
  max_seconds: seconds.nullish(),
  select: z.array(z.enum(foundRun.keyof().options)).min(1).max(foundRun.keyof().options.length).nullish(),
  limit: pageFields.limit,
  cursor: cursor.nullish().describe("The `next` of the page before"),
})

const page = z
  .object({
    runs: z.array(foundRun.partial()),
    next: z.string().nullable().describe("The `cursor` of the next page; null when no run is left"),
    read_until: z
      .string()
      .nullable()
      .describe("The page has looked at all runs that were created after this time; null when no run is left"),
    now: z.string().describe("The clock by which runs are dated, when the page was read"),
  })
  .meta({ id: "RunPage" })

export function addRunSearchRoute(api: Api, { db }: Pick<Runs, "db">): void {
  addRoute(api, {
    method: "post",
    path: "/runs/search",
    summary: "Search the runs of all threads, newest first",
    tags: ["Runs"],
    body: runSearch,
    responses: {
      200: {
        description:
          "A page of runs. It may have fewer than `limit`, even none, and a next page nevertheless. A stateless run is found until it ends",
        schema: page,
      },
      422: { description: "Invalid input" },
    },
    handle: async ({ c, body }) => {
      const { limit, metadata, cursor: after, select } = body
      const has = (field: "metadata" | "kwargs") => !select || select.includes(field)
      const statuses = body.status ? [body.status].flat() : undefined
      const asked = {
        ...(body.thread_id && { thread_id: body.thread_id }),
        metadata: metadata ?? {},
        status: body.status ?? null,
        limit,
      }
      const { value, filter: access } = await callerOf(c).authorize("threads:search", asked)
      const filter = {
        statuses,
        threadId: body.thread_id,
        assistantId: body.assistant_id,
        graphId: body.graph_id,
        revisionId: body.revision_id,
        userId: body.user_id,
        metadata: Object.keys(value.metadata ?? {}).length === 0 ? undefined : value.metadata,
        error: body.error,
        createdAfter: body.created_after,
        createdBefore: body.created_before,
        minSeconds: body.min_seconds,
        maxSeconds: body.max_seconds,
      }
      const { runs, end, now } = await searchRuns(db, {
        filter,
        access,
        after: after ?? undefined,
        limit,
        withMetadata: has("metadata"),
        withKwargs: has("kwargs"),
      })
      return jsonResponse({
        runs: runs.map((row) => onlySelected(renderFound(row), select)),
        next: end?.next ?? null,
        read_until: end?.readUntil ?? null,
        now,
      })
    },
  })
}

const renderFound = (row: FoundRun) => ({
  ...renderRun(row),
  graph_id: row.graph_id,
  due_at: row.due_at,
  claimed_at: row.claimed_at,
  user_id: row.user_id,
  revision_id: row.executed_revision_id,
  is_stateless: row.is_stateless,
})
