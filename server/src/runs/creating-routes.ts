/** What the routes that create runs share: the key under which a request may come again, and the reply's headers. */
import { toJsonText } from "@superstep/toolkit/http/json"
import type { Api } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import type { Subscriber } from "../events/run-stream.js"
import { callerOf } from "../http/caller-of.js"
import type { Answer } from "../idempotency/answers.js"
import { requestKeyOf } from "../idempotency/once.js"
import { createRuns, type Runs } from "./operations.js"
import type { RunRow } from "./queries.js"
import { renderRun } from "./run-resource.js"
import type { NewRunBody } from "./schema.js"
import type { Turn, Turns } from "./turns.js"

/** What run routes stand on. */
export interface RunRoutes extends Runs {
  /** Headers of a request that the graph gets as `configurable`; none unless the project says so. */
  readonly configurableHeaders?: ((headers: Headers) => Readonly<Record<string, string>>) | undefined
}

declare module "hono" {
  interface ContextVariableMap {
    turn: Turn | undefined
  }
}

const creatingPaths = ["", "/stream", "/wait"].map((end) => `/threads/:thread_id/runs${end}`)

/** Gives each request for a run on a thread its turn as soon as it arrives: before it is known who sent it, and what. */
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

/** A relative path: behind the edge the SDKs put it after their own base address (control-plane §6.9). */
export const locationOf = (row: RunIdentity) => `/threads/${row.thread_id}/runs/${row.run_id}`

export const failures = {
  404: { description: "No such thread or assistant" },
  409: { description: "The thread is busy, or the id is taken" },
  422: { description: "Invalid input" },
}

/**
 * Creates one run, once for its key.
 * @returns the row of a run that is new; or the reply that the same request had before
 */
export async function createOnce(
  runs: RunRoutes,
  { c, bodyText, threadId }: CreatingRequest,
  { body, subscriber }: { body: NewRunBody; subscriber?: Subscriber | undefined },
): Promise<{ row: RunRow } | { answer: Answer }> {
  const key = requestKeyOf({ c, bodyText }, body.run_id ? [body.run_id] : [])
  const request = { caller: callerOf(c), threadId, body, headers: headersFor(runs, c) }
  const answer = ([row]: readonly RunRow[]) => answerOf(row as RunRow, threadId === undefined)
  const made = await createRuns(runs, [request], { subscriber, key: key && { key, answer }, turn: c.get("turn") })
  if ("status" in made) return { answer: made }
  const [row] = made
  if (!row) throw new Error("a run that was created has no row")
  return { row }
}

/** As for one; all of them or none. */
export async function createAllOnce(
  runs: RunRoutes,
  { c, bodyText }: Omit<CreatingRequest, "threadId">,
  bodies: readonly NewRunBody[],
): Promise<{ answer: Answer; isRepeated: boolean }> {
  const ownIds = bodies.flatMap(({ run_id }) => run_id ?? [])
  const key = requestKeyOf({ c, bodyText }, ownIds)
  const headers = headersFor(runs, c)
  const requests = bodies.map((body) => ({ caller: callerOf(c), threadId: undefined, body, headers }))
  const made = await createRuns(runs, requests, { key: key && { key, answer: batchAnswerOf } })
  return "status" in made ? { answer: made, isRepeated: true } : { answer: batchAnswerOf(made), isRepeated: false }
}

const headersFor = ({ configurableHeaders }: RunRoutes, c: Context) => configurableHeaders?.(c.req.raw.headers)

const contentType = { "content-type": "application/json" }

/** The reply to a run that was created. A stateless run is known by its own id alone. */
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
