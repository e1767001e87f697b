/** What happened to a run and when: its attempts, and its logged events with their times. Extensions of Superstep. */
import { jsonResponse, parseJson, RawJson } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { z } from "zod"
import { callerOf } from "../http/caller-of.js"
import { type AttemptsRow, findAttempts, findTimedEvents } from "./history-queries.js"
import { getRun, runNotFound } from "./operations.js"
import type { Runs } from "./parts.js"
import { type AttemptEnding, attemptEndings, type RunStatus, runStatuses } from "./run.js"
import { runParams } from "./schema.js"

const tags = ["Runs"]
const noRun = { 404: { description: "No such run" }, 422: { description: "Invalid input" } }

const attempts = z
  .object({
    run_id: z.string(),
    created_at: z.string(),
    due_at: z.string().describe("The earliest start: later than created_at for a run with after_seconds"),
    now: z.string().describe("The server's clock, for durations of what is not over"),
    attempts: z.array(
      z.object({
        attempt: z.int(),
        claimed_at: z.string().nullable().describe("When it began; null if it is not known"),
        ended_at: z.string().nullable(),
        ending: z
          .enum([...attemptEndings, ...runStatuses])
          .nullable()
          .describe("The run's final status, or why the run was retried (docs/durability.md)"),
      }),
    ),
  })
  .meta({ id: "RunAttempts" })

const eventsQuery = z.object({
  after: z.coerce.number().int().min(-1).default(-1).describe("The id of the last event of the page before"),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
})

const timedEvent = z
  .object({
    id: z.string().describe("The same as the id in the run's stream"),
    event: z.string(),
    data: z.unknown(),
    created_at: z.string(),
  })
  .meta({ id: "TimedEvent" })

export function addRunHistoryRoutes(api: Api, runs: Pick<Runs, "db">): void {
  const { db } = runs
  addRoute(api, {
    method: "get",
    path: "/threads/{thread_id}/runs/{run_id}/attempts",
    summary: "Get when a run was requested, and when each of its attempts began and ended",
    tags,
    params: runParams,
    responses: { 200: { description: "The attempts, oldest first", schema: attempts }, ...noRun },
    handle: async ({ c, params: { thread_id: threadId, run_id: runId } }) => {
      await getRun(runs, { caller: callerOf(c), threadId, runId })
      const row = await findAttempts(db, runId)
      if (!row) throw runNotFound(runId)
      const { created_at, not_before: due_at, now } = row
      return jsonResponse({ run_id: runId, created_at, due_at, now, attempts: attemptsOf(row) })
    },
  })
  addRoute(api, {
    method: "get",
    path: "/threads/{thread_id}/runs/{run_id}/events",
    summary: "List the logged events of a run with their times; a run that is not resumable may have none",
    tags,
    params: runParams,
    query: eventsQuery,
    responses: {
      200: {
        description:
          "The events, oldest first. A page may have fewer than `limit`, since it ends after 1 MB; while more follow, X-Pagination-Next is the `after` of the next page",
        schema: z.array(timedEvent),
      },
      ...noRun,
    },
    handle: async ({ c, params: { thread_id: threadId, run_id: runId }, query }) => {
      const named = { caller: callerOf(c), threadId, runId }
      await getRun(runs, named)
      const { events, isLast } = await findTimedEvents(db, runId, query)
      // The run may have been deleted after it was found.
      if (events.length === 0) await getRun(runs, named)
      const page = events.map(({ seq, event, data, created_at }) => ({
        id: String(seq),
        event,
        data: new RawJson(data),
        created_at,
      }))
      return jsonResponse(page, 200, isLast ? {} : { "x-pagination-next": String(events.at(-1)?.seq) })
    },
  })
}

interface Attempt {
  readonly attempt: number
  /** Null for an attempt that another release of the server claimed. */
  readonly claimed_at: string | null
  /** Null while it executes. */
  readonly ended_at: string | null
  /** How it ended: the run's final status, or why the run was retried. Null while it executes. */
  readonly ending: AttemptEnding | RunStatus | null
}

/** All known attempts, oldest first. A run that waits again has no present attempt. */
function attemptsOf({ status, attempt, updated_at, claimed_at, past_attempts }: AttemptsRow): Attempt[] {
  const past: Attempt[] = parseJson(past_attempts)
  const isPresentPast = past.some((one) => one.attempt === attempt)
  if (attempt === 0 || isPresentPast || status === "pending") return past.map(withIsoTimes)
  const isOver = status !== "running"
  const present = {
    attempt,
    claimed_at: claimed_at?.toISOString() ?? null,
    ended_at: isOver ? updated_at.toISOString() : null,
    ending: isOver ? (status as RunStatus) : null,
  }
  return [...past.map(withIsoTimes), present]
}

// Postgres writes times in JSON with an offset and microseconds.
const withIsoTimes = (one: Attempt): Attempt => ({
  ...one,
  claimed_at: one.claimed_at === null ? null : new Date(one.claimed_at).toISOString(),
  ended_at: one.ended_at === null ? null : new Date(one.ended_at).toISOString(),
})
