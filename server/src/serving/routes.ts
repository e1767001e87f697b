/** What the control plane asks a unit: its state, and to take over (protocol/unit). Not part of the public API. */
import type { Database } from "@superstep/toolkit/db/database"
import { Forbidden } from "@superstep/toolkit/errors/errors"
import type { Api } from "@superstep/toolkit/http/route"
import type { MiddlewareHandler } from "hono"
import type { GraphDefaults } from "../assistants/assistant.js"
import { insertSystemAssistants } from "../assistants/queries.js"
import type { RunStreams } from "../events/run-streams.js"
import type { Gate } from "../gate/gate.js"
import { type CrossOrigin, toldCrossOrigin } from "../http/cross-origin.js"
import type { Executor } from "../runs/executor.js"
import { type DefaultTtl, setDefaultTtl } from "../threads/sweep-queries.js"
import type { Workers } from "../workers/port.js"
import type { ProjectCrashes } from "../workers/project-crashes.js"
import { idleness, isServing, setServingRevision } from "./queries.js"
import type { Readiness } from "./readiness.js"

export interface Unit {
  readonly db: Database
  readonly workers: Workers
  readonly gate: Gate
  readonly crashes: ProjectCrashes
  readonly executor: Executor
  readonly streams: RunStreams
  readonly revisionId: string | null
  readonly graphDefaults: Readonly<Record<string, GraphDefaults>>
  /** What threads get that name no time of their own; undefined: they stay. */
  readonly defaultTtl: DefaultTtl | undefined
  readonly readiness: Readiness
  /** What web pages of other origins are told. */
  readonly crossOrigin: CrossOrigin
}

export function addUnitRoutes(app: Api, unit: Unit): void {
  const { db, workers, gate, crashes, executor, streams, revisionId, readiness, crossOrigin } = unit
  app.use("/internal/*", onlyFromOutside)
  app.get("/internal/status", async (c) => {
    const { graphs, failed } = workers.report()
    const refused = [...failed, ...gate.failures()]
    return c.json({
      revision_id: revisionId,
      pid: process.pid,
      ready: readiness.isReady,
      graphs,
      failed: refused.map(({ graphId, message }) => ({ graph_id: graphId, message })),
      serving: await isServing(db, revisionId),
      running_runs: executor.running,
      open_streams: streams.openStreams,
      worker_crashes: crashes.report(),
      cross_origin: toldCrossOrigin(crossOrigin),
    })
  })
  app.get("/internal/live", () => new Response(null, { status: 204 }))
  app.get("/internal/idle", async (c) => {
    const { is_idle: isIdle, next_due_ms } = await idleness(db)
    return c.json({ is_idle: isIdle && executor.running === 0 && streams.openStreams === 0, next_due_ms })
  })
  app.post("/internal/activate", async () => {
    await activate(unit)
    return new Response(null, { status: 204 })
  })
}

/** User code may call every route but these: no revision activates itself, and no app passes a request on to here. */
const onlyFromOutside: MiddlewareHandler = async (c, next) => {
  if (c.get("origin").from !== "outside") throw new Forbidden("only the control plane may call this")
  await next()
}

type Activation = Pick<Unit, "db" | "workers" | "revisionId" | "graphDefaults" | "defaultTtl">

/**
 * From now on this revision claims runs, its graphs have their assistants, and new threads get its time. A revision that
 * never comes here changes none of these. Idempotent.
 */
export async function activate({ db, workers, revisionId, graphDefaults, defaultTtl }: Activation): Promise<void> {
  await insertSystemAssistants(db, workers.report().graphs, graphDefaults)
  await db.transaction(async (tx) => {
    await setDefaultTtl(tx, defaultTtl)
    if (revisionId !== null) await setServingRevision(tx, revisionId)
  })
}
