/** Routes of a unit for the control plane: its state, activation and pins (protocol/unit). Not part of the public API. */
import { addAbortListener } from "node:events"
import type { Idle, RunCounts } from "@superstep/protocol/unit/replies"
import type { Database } from "@superstep/toolkit/db/database"
import { Forbidden, InvalidInput } from "@superstep/toolkit/errors/errors"
import { parseJsonBody } from "@superstep/toolkit/http/body"
import { problemsOf } from "@superstep/toolkit/http/problems"
import type { Api } from "@superstep/toolkit/http/route"
import type { MiddlewareHandler } from "hono"
import { z } from "zod"
import { confirmActs, unauditedActs } from "../acts/queries.js"
import type { GraphDefaults } from "../assistants/assistant.js"
import type { Streams } from "../events/streams.js"
import type { Gate } from "../gate/gate.js"
import { countLiveRuns } from "../metrics/queries.js"
import type { Executor } from "../runs/executor.js"
import type { DefaultTtl } from "../threads/sweep-queries.js"
import type { Workers } from "../workers/port.js"
import { type ActivationRequest, activate, activationRequest, unpin } from "./activation.js"
import { findOrphans } from "./orphans.js"
import { findPins, idleness } from "./queries.js"
import type { Readiness } from "./readiness.js"
import { readStored, statusReader } from "./status.js"
import { bodyOf, type StreamedStatus, statusLines } from "./status-stream.js"

export interface Unit extends StreamedStatus {
  readonly readiness: Readiness
  readonly db: Database
  readonly workers: Workers
  readonly gate: Gate
  readonly executor: Executor
  readonly streams: Streams
  readonly graphDefaults: Readonly<Record<string, GraphDefaults>>
  /** The time to live of new threads without their own; undefined: they never expire. */
  readonly defaultTtl: DefaultTtl | undefined
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal
}

// A caller that waits for a start is answered at its end. One that asks wrongly gets the present state.
const statusQuery = z.object({
  wait_ms: z.coerce.number().int().min(0).max(60_000).catch(0),
  watch: z.coerce.number().int().min(100).max(60_000).optional().catch(undefined),
})

export function addUnitRoutes(app: Api, unit: Unit): void {
  const { db, executor, streams, revisionId, readiness, stopping } = unit
  const status = statusReader(unit)
  app.use("/internal/*", onlyFromOutside)
  app.get("/internal/status", async (c) => {
    const { wait_ms: waitMs, watch: heartbeatMs } = statusQuery.parse(c.req.query())
    if (heartbeatMs === undefined) {
      await readiness.waitReady(waitMs, c.req.raw.signal)
      return c.json(await status(await readStored(db)))
    }
    const left = new AbortController()
    const leave = () => left.abort()
    const listening = addAbortListener(stopping, leave)
    left.signal.addEventListener("abort", () => listening[Symbol.dispose](), { once: true })
    const body = await bodyOf(statusLines(unit, heartbeatMs, left.signal), leave)
    return new Response(body, { headers: { "content-type": "application/x-ndjson" } })
  })
  app.get("/internal/live", () => new Response(null, { status: 204 }))
  app.get("/internal/idle", async (c) => {
    const { is_idle: isIdle, next_due_ms } = await idleness(db, revisionId)
    return c.json<Idle>({ is_idle: isIdle && executor.running === 0 && streams.openStreams === 0, next_due_ms })
  })
  app.get("/internal/runs", async (c) => {
    const { pending, running } = await countLiveRuns(db)
    return c.json<RunCounts>({ pending, running })
  })
  app.get("/internal/acts", async (c) =>
    c.body(`[${(await unauditedActs(db)).join()}]`, 200, { "content-type": "application/json" }),
  )
  app.post("/internal/acts/confirmed", async (c) => {
    await confirmActs(db, parseConfirmed(await c.req.text()))
    return new Response(null, { status: 204 })
  })
  app.get("/internal/pins/:revision_id", async (c) => c.json(await findPins(db, c.req.param("revision_id"))))
  app.delete("/internal/pins/:revision_id", async (c) => {
    await unpin(db, c.req.param("revision_id"))
    return new Response(null, { status: 204 })
  })
  app.get("/internal/orphans", async (c) => c.json(await findOrphans(unit)))
  app.post("/internal/activate", async (c) => {
    await activate(unit, parseActivation(await c.req.text()))
    return new Response(null, { status: 204 })
  })
}

const confirmed = z.array(z.uuid()).max(1000)

function parseConfirmed(text: string): string[] {
  const body = parseJsonBody(text)
  const parsed = confirmed.safeParse(body)
  if (!parsed.success) throw new InvalidInput(problemsOf(parsed.error.issues, body, ["body"]))
  return parsed.data
}

function parseActivation(text: string): ActivationRequest {
  const body = parseJsonBody(text)
  const parsed = activationRequest.safeParse(body)
  if (!parsed.success) throw new InvalidInput(problemsOf(parsed.error.issues, body, ["body"]))
  return parsed.data
}

/** Rejects requests of user code, so that no revision activates itself and no app forwards requests to these routes. */
const onlyFromOutside: MiddlewareHandler = async (c, next) => {
  if (c.get("origin").from !== "outside") throw new Forbidden("only the control plane may call this")
  await next()
}
