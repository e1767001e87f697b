/** Shared by the routes that create runs: a repeated request gets the run of the first one, and the headers of the response. */
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import { type Api, addRoute, type Route, type RouteInput } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import type { z } from "zod"
import type { Subscriber } from "../events/topic.js"
import { callerOf } from "../http/caller-of.js"
import { type Answer, answeredBefore, answerOnce, type RequestKey } from "../idempotency/answers.js"
import { requestKeyOf } from "../idempotency/once.js"
import { createRuns, type InsertedRun, type InsertWithin, type ProtocolClient } from "./creation.js"
import type { Runs } from "./operations.js"
import type { PathOf, RunRequest } from "./preparation.js"
import type { RunRow } from "./queries.js"
import { type NewRunBody, newRun, renderRun, threadParams } from "./schema.js"
import type { Turn, Turns } from "./turns.js"

/** What the run routes need. */
export interface RunRoutes extends Runs {
  /** Selects the request headers that the graph gets as `configurable`; none unless the project names some. */
  readonly configurableHeaders?: ((headers: Headers) => Readonly<Record<string, string>>) | undefined
}

declare module "hono" {
  interface ContextVariableMap {
    turn: Turn | undefined
  }
}

const creatingPaths = ["", "/stream", "/wait"].map((end) => `/threads/:thread_id/runs${end}`)

/** Gives each request for a run on a thread its turn when it arrives, before authentication and before its body is read. */
export const addTurns = (app: Api, turns: Turns) =>
  app.on("POST", creatingPaths, async (c, next) => {
    const { thread_id: threadId = "" }: Record<string, string> = c.req.param()
    const turn = turns.take(threadId.toLowerCase())
    c.set("turn", turn)
    try {
      await next()
    } finally {
      turn.end()
    }
  })

export interface CreatingRequest {
  readonly c: Context
  readonly bodyText: string
  /** Undefined for stateless runs. */
  readonly threadId: string | undefined
}

export interface RunIdentity {
  readonly run_id: string
  readonly thread_id: string
}

/** A relative path: behind the edge the SDKs append it to their own base URL (control-plane §6.9). */
export const locationOf = (row: RunIdentity) => `/threads/${row.thread_id}/runs/${row.run_id}`

export const failures = {
  404: { description: "No such thread or assistant" },
  409: { description: "The thread is busy, or the id is taken" },
  422: { description: "Invalid input" },
}

type CreatingRoutes<Query extends z.ZodType | undefined> = Pick<
  Route<undefined, Query, undefined>,
  "lasts" | "query"
> & {
  /** What the path ends with after `runs`. */
  readonly end: "" | "/stream" | "/wait"
  readonly summary: { readonly onThread: string; readonly stateless: string }
  /** The response with status 200. */
  readonly ok: { readonly description: string; readonly schema: z.ZodType; readonly contentType?: string }
  answer(
    request: CreatingRequest,
    body: NewRunBody,
    query: RouteInput<undefined, Query, undefined>["query"],
  ): Promise<Response>
}

/** Adds two routes that create a run: on a thread, and without one. */
export function addCreatingRoutes<Query extends z.ZodType | undefined = undefined>(
  api: Api,
  { end, summary, ok, answer, ...rest }: CreatingRoutes<Query>,
): void {
  const both = { ...rest, method: "post", tags: ["Runs"], body: newRun, responses: { 200: ok, ...failures } } as const
  addRoute(api, {
    ...both,
    path: `/threads/{thread_id}/runs${end}`,
    summary: summary.onThread,
    params: threadParams,
    handle: ({ c, params, query, body, bodyText }) => answer({ c, bodyText, threadId: params.thread_id }, body, query),
  })
  addRoute(api, {
    ...both,
    path: `/runs${end}`,
    summary: summary.stateless,
    handle: ({ c, query, body, bodyText }) => answer({ c, bodyText, threadId: undefined }, body, query),
  })
}

export interface NewRunOnce {
  readonly body: NewRunBody
  readonly subscriber?: Subscriber | undefined
  readonly forThread?: RunRequest["forThread"]
  readonly pathOf?: PathOf
  readonly protocolClient?: ProtocolClient
}

/**
 * Creates one run, once for its key.
 * @returns the row of a new run, or the earlier response to the same request
 */
export async function createOnce(
  runs: RunRoutes,
  { c, bodyText, threadId }: CreatingRequest,
  { body, forThread, pathOf, subscriber, protocolClient }: NewRunOnce,
): Promise<{ row: RunRow } | { answer: Answer }> {
  const key = requestKeyOf({ c, bodyText }, body.run_id ? [body.run_id] : [])
  const request = { caller: callerOf(c), threadId, body, forThread, pathOf, headers: headersFor(runs, c) }
  const answerFor = ([row]: readonly RunRow[]) => answerOf(row as RunRow, threadId === undefined)
  const made = await oncePerKey(runs, { key, answerFor }, (within) =>
    createRuns(runs, [request], { subscriber, protocolClient, turn: c.get("turn"), within }),
  )
  if ("answer" in made) return made
  const [row] = made.rows
  if (!row) throw new Error("a run that was created has no row")
  return { row }
}

/** Like `createOnce` for several runs: creates all of them or none. */
export async function createAllOnce(
  runs: RunRoutes,
  { c, bodyText }: Omit<CreatingRequest, "threadId">,
  bodies: readonly NewRunBody[],
): Promise<{ answer: Answer; isRepeated: boolean }> {
  const ownIds = bodies.flatMap(({ run_id }) => run_id ?? [])
  const key = requestKeyOf({ c, bodyText }, ownIds)
  const headers = headersFor(runs, c)
  const requests = bodies.map((body, n) => {
    const pathOf: PathOf = (...path) => ["body", n, ...path]
    return { caller: callerOf(c), threadId: undefined, body, headers, pathOf }
  })
  const made = await oncePerKey(runs, { key, answerFor: batchAnswerOf }, (within) =>
    createRuns(runs, requests, { within }),
  )
  return "answer" in made
    ? { answer: made.answer, isRepeated: true }
    : { answer: batchAnswerOf(made.rows), isRepeated: false }
}

interface KeyedCreation {
  readonly key: RequestKey | undefined
  /** The response to a repeated request. */
  readonly answerFor: (rows: readonly RunRow[]) => Answer
}

/** Creates runs in one transaction with the key of their request, or returns the earlier response to the same request. */
async function oncePerKey(
  { db }: Pick<Runs, "db">,
  { key, answerFor }: KeyedCreation,
  create: (within?: InsertWithin) => Promise<readonly RunRow[] | undefined>,
): Promise<{ rows: readonly RunRow[] } | { answer: Answer }> {
  if (key === undefined) return { rows: (await create()) ?? [] }
  // Checked before rules and assistants are read, since these may have changed.
  let before = await answeredBefore(db, key)
  if (before) return { answer: before }
  const within: InsertWithin = async (insert) => {
    let inserted: readonly InsertedRun[] = []
    const { answer, isRepeated } = await answerOnce(db, key, async (tx) => {
      inserted = await insert(tx)
      return answerFor(inserted.map(({ row }) => row))
    })
    if (!isRepeated) return inserted
    before = answer
    return undefined
  }
  const rows = await create(within)
  if (rows) return { rows }
  if (before) return { answer: before }
  throw new Error("neither runs were created nor was their request answered before")
}

const headersFor = ({ configurableHeaders }: RunRoutes, c: Context) => configurableHeaders?.(c.req.raw.headers)

const contentType = { "content-type": "application/json" }

/** The response for a new run. A stateless run is addressed by its own id alone. */
export const answerOf = (row: RunRow, isStateless: boolean): Answer => ({
  status: 200,
  headers: { ...contentType, "content-location": isStateless ? `/runs/${row.run_id}` : locationOf(row) },
  body: toJsonText(renderRun(row)),
})

const batchAnswerOf = (rows: readonly RunRow[]): Answer => ({
  status: 200,
  headers: contentType,
  body: toJsonText(rows.map(renderRun)),
})

/**
 * Joins the run of a repeated request for a stream or a result. Access was checked when the run was created: the key belongs
 * to the same caller.
 * @throws Conflict  no trace of the run is left. It is not created again: a late retry would undo a rollback that removed it.
 */
export async function joinRepeated(
  { body, headers }: Answer,
  join: (run: RunIdentity, headers: Record<string, string>) => Promise<Response>,
): Promise<Response> {
  const run = parseJson(body) as RunIdentity
  const { "content-location": location = "" } = headers
  try {
    return await join(run, { "content-location": location, "idempotent-replayed": "true" })
  } catch (error) {
    throw error instanceof NotFound ? new Conflict(gone(run.run_id), "run_gone") : error
  }
}

const gone = (runId: string) =>
  `this request has created run ${runId} before, and nothing of it is left: it was removed, by a rollback for instance, or it was ` +
  'stateless and has ended (on_completion "keep" keeps such a run). Send it under a new key to run it again'
