/** One unit: what should be done about it, and doing it. */
import { wakePipeline } from "../revisions/wake-up.js"
import type { UnitStatus } from "../runtimes/port.js"
import { activate, askStatus, hangs } from "../runtimes/unit-client.js"
import { NoConnections } from "./connections.js"
import type { PipelineContext } from "./context.js"
import { recordCrash, recordStart } from "./crash-queries.js"
import { syncEdge } from "./edge-table.js"
import { shipUnitLog } from "./log-shipping.js"
import { tellMemoryEnd } from "./memory-end.js"
import {
  deploymentById,
  executesRuns,
  holdBack,
  putOff,
  removeUnit,
  revisionOfUnit,
  type UnitRow,
  type WatchedUnit,
} from "./queries.js"
import { backOffMs, crashesAfter } from "./restart.js"
import { letInWhenReady, stopForNow, suspend } from "./suspend-unit.js"
import { unitAddress, unitSpec } from "./unit.js"
import { noteReport } from "./unit-report.js"

export type UnitAction = "leave" | "activate" | "let in" | "note crash" | "start" | "restart" | "suspend" | "stop"

type Facts = Pick<WatchedUnit, "state" | "may_start" | "is_down" | "is_wanted" | "is_outdated" | "is_ready">

/**
 * Pure. A starting unit is the pipeline's own business. A draining one that has ended is not started again: what it
 * had not finished waits in the queue, where the serving one takes it.
 */
export function actionFor(unit: Facts, status: UnitStatus["state"]): UnitAction {
  if (unit.state === "starting") return "leave"
  if (unit.state === "stopping") return "stop"
  if (!unit.is_wanted) return status === "running" ? "suspend" : "leave"
  if (unit.state === "draining") return "leave"
  if (status === "running") {
    if (unit.is_outdated) return "restart"
    return unit.is_ready ? "activate" : "let in"
  }
  if (status === "exited" && !unit.is_down) return "note crash"
  return unit.may_start ? "start" : "leave"
}

export async function reconcileUnit(context: PipelineContext, unit: WatchedUnit): Promise<void> {
  const { db, runtime } = context
  switch (actionFor(unit, (await runtime.status(unit.unit_id)).state)) {
    case "leave":
      return
    case "activate":
      return ensureActive(context, unit)
    case "let in":
      return letIn(context, unit)
    case "note crash":
      return noteCrash(context, unit)
    case "start":
      await startAgain(context, unit)
      return unit.is_ready ? undefined : letIn(context, unit)
    case "restart":
      await holdBack(db, unit.unit_id)
      await stopForNow(context, unit)
      await startAgain(context, unit)
      return letIn(context, unit)
    case "suspend":
      return suspend(context, unit)
    case "stop":
      return end(context, unit)
  }
}

async function noteCrash(context: PipelineContext, unit: UnitRow): Promise<void> {
  const { db, log } = context
  const crashes = crashesAfter(unit)
  await tellMemoryEnd(context, unit)
  // Its last words, which may have no end, before the next life goes on in the same file.
  await shipUnitLog(context, unit)
  await recordCrash(db, unit.unit_id, crashes, backOffMs(crashes))
  log.warn({ unit_id: unit.unit_id, revision_id: unit.revision_id, crashes }, "unit ended by itself")
}

/**
 * Whatever kept a unit from being activated (a switch that failed half way, a kill, a start), the unit that serves is
 * the one that executes runs, as soon as it can.
 */
async function ensureActive(context: PipelineContext, unit: UnitRow): Promise<void> {
  const address = unitAddress(context, unit)
  const report = await askStatus(address, AbortSignal.timeout(context.limits.hangMs / 2))
  await noteReport(context, unit, report)
  if (!report) return endIfStuck(context, unit)
  if (!report.ready || report.serving) return
  // Asked last: the look at the unit took time, and a switch may be on its way to another one.
  if (!(await executesRuns(context.db, unit.unit_id))) return
  await activate(address)
  context.log.info({ unit_id: unit.unit_id, revision_id: unit.revision_id }, "unit activated")
}

/** One that hangs as it comes back is ended too: requests wait for it. */
async function letIn(context: PipelineContext, unit: UnitRow): Promise<void> {
  if (!(await letInWhenReady(context, unit))) await endIfStuck(context, unit)
}

/**
 * A process that lives and answers nothing is ended, which counts as an end of its own: so it is started again with
 * back-off, and taken back where it is watched. Requests that it holds break off; the next ones go to who stands by.
 */
async function endIfStuck(context: PipelineContext, unit: UnitRow): Promise<void> {
  const { runtime, limits, log } = context
  if (!(await hangs(unitAddress(context, unit), limits.hangMs / 2))) return
  log.warn({ unit_id: unit.unit_id, revision_id: unit.revision_id }, "unit does not answer: it is ended")
  await runtime.stop(unit.unit_id, { graceMs: 0 })
  await noteCrash(context, unit)
}

async function startAgain(context: PipelineContext, unit: UnitRow): Promise<void> {
  const revision = await revisionOfUnit(context.db, unit.unit_id)
  const deployment = await deploymentById(context.db, unit.deployment_id)
  if (!revision || !deployment) return
  const spec = await unitSpec(context, unit, revision, deployment).catch((error: unknown) => {
    if (!(error instanceof NoConnections)) throw error
    return refuse(context, unit, error)
  })
  if (!spec) return
  await recordStart(context.db, unit.unit_id)
  await context.runtime.start(spec)
  context.crashPoint("wake:after-start")
  context.log.info({ unit_id: unit.unit_id, revision_id: unit.revision_id }, "unit started again")
}

// Long enough for another one to fall asleep.
const againMs = 10_000

/** Whoever waits for it is told at once, instead of after a minute. */
async function refuse(context: PipelineContext, unit: UnitRow, err: NoConnections): Promise<undefined> {
  await context.db.transaction((tx) => putOff(tx, unit, againMs))
  await syncEdge(context)
  context.log.warn({ err, unit_id: unit.unit_id, deployment_id: unit.deployment_id }, "unit cannot be started")
}

/** The edge is told first: a revision that is rolled back serves until that moment, and its requests would break off. */
async function end(context: PipelineContext, unit: UnitRow): Promise<void> {
  const { db, runtime, limits, crashPoint } = context
  await syncEdge(context)
  await runtime.stop(unit.unit_id, { graceMs: limits.stopGraceMs })
  crashPoint("unit:after-stop")
  await shipUnitLog(context, unit)
  // The row last: as long as it is there, a killed control plane comes back to this.
  await runtime.remove(unit.unit_id)
  crashPoint("unit:after-remove")
  await db.transaction(async (tx) => {
    await removeUnit(tx, unit.unit_id)
    // A deletion waits for the last one.
    await wakePipeline(tx, unit.deployment_id)
  })
  context.log.info({ unit_id: unit.unit_id, revision_id: unit.revision_id }, "unit ended")
}
