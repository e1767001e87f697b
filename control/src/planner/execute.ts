/**
 * Executes the actions on units. Each checks again what may have changed since it was planned. Each is safe to repeat: a control plane that
 * is killed in the middle plans it again.
 */

import { activate, askIdle, askStatus, hangs } from "@superstep/machines/unit-client/unit-client"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { deploymentById } from "../deployments/carried-queries.js"
import { backOffMs, crashesAfter, startPauseMs } from "../health/restart.js"
import { wakeDeployment } from "../revisions/sleep-queries.js"
import { wakePipeline } from "../revisions/wake-up.js"
import { activationOf } from "./activation.js"
import { setConnections } from "./connection-queries.js"
import { NoConnections } from "./connections.js"
import type { PipelineContext } from "./context.js"
import { recordEnd, recordStart } from "./crash-queries.js"
import type { UnitFacts, UnitRow } from "./facts.js"
import { shipUnitLog } from "./log-shipping.js"
import { reportMemoryEnd } from "./memory-end.js"
import type { UnitAction } from "./plan-unit.js"
import {
  admitUnit,
  deferStart,
  executesRuns,
  holdUnit,
  isWanted,
  removeUnit,
  revisionOfUnit,
  unitById,
} from "./queries.js"
import { unitAddress, unitSpec } from "./unit.js"

type Execute = (context: PipelineContext, unit: UnitFacts) => Promise<void>

export const executeOnUnit: Readonly<Record<UnitAction, Execute>> = {
  start,
  "record crash": recordUnitCrash,
  "record disruption": recordDisruption,
  "stop hung": stopHung,
  activate: activateUnit,
  admit,
  hold,
  stop,
  suspend,
  remove,
  "remove if idle": removeIfIdle,
  "remove if hung": removeIfHung,
}

async function start(context: PipelineContext, unit: UnitFacts): Promise<void> {
  // The deploy stage may have started it since it was looked at: a restart that is asked for meanwhile is still to come.
  if ((await context.machine.units.status(unit.unit_id)).state === "running") return
  const revision = await revisionOfUnit(context.db, unit.unit_id)
  const deployment = await deploymentById(context.db, unit.deployment_id)
  if (!revision || !deployment) return
  const spec = await unitSpec(context, unit, revision, deployment).catch((error: unknown) => {
    if (!(error instanceof NoConnections)) throw error
    return refuse(context, unit, error)
  })
  if (!spec) return
  await recordStart(context.db, unit.unit_id)
  await context.machine.units.start(spec)
  context.crashPoint("wake:after-start")
  context.log.info(factsOf(unit), "unit started again")
}

// Long enough for another deployment to fall asleep.
const againMs = 10_000

/** Callers that wait for the unit get 503 at once, instead of after a minute. */
async function refuse(context: PipelineContext, unit: UnitRow, err: NoConnections): Promise<undefined> {
  await context.db.transaction((tx) => deferStart(tx, unit, againMs))
  await context.routing.publish()
  context.log.warn({ err, unit_id: unit.unit_id, deployment_id: unit.deployment_id }, "unit cannot be started")
}

async function recordUnitCrash(context: PipelineContext, unit: UnitRow): Promise<void> {
  const { db, log } = context
  const isStarting = unit.role === "starting"
  const crashes = isStarting ? unit.crashes + 1 : crashesAfter(unit)
  await reportMemoryEnd(context, unit)
  // Before the next process appends to the same file: the last line may be incomplete.
  await shipUnitLog(context, unit)
  await recordEnd(db, unit.unit_id, crashes, isStarting ? startPauseMs(crashes) : backOffMs(crashes))
  log.warn({ ...factsOf(unit), crashes }, "unit ended by itself")
}

async function recordDisruption(context: PipelineContext, unit: UnitRow): Promise<void> {
  await shipUnitLog(context, unit)
  await recordEnd(context.db, unit.unit_id, unit.crashes, backOffMs(1))
  context.log.info(factsOf(unit), "somebody else has ended the unit: it is started again")
}

/**
 * The plan starts it again with back-off, or rolls its revision back. Requests that it holds break off; the next ones go to a standby.
 */
async function stopHung(context: PipelineContext, unit: UnitRow): Promise<void> {
  if (!(await hangsStill(context, unit))) return
  context.log.warn(factsOf(unit), "unit does not answer: it is stopped")
  await context.machine.units.stop(unit.unit_id, { graceMs: 0 })
  await recordUnitCrash(context, unit)
}

/**
 * Makes a serving unit execute runs when nothing else has activated it, as after a switch that failed half way or a kill of the control
 * plane.
 */
async function activateUnit(context: PipelineContext, unit: UnitRow): Promise<void> {
  // A switch to another revision may have begun since the unit was looked at.
  if (!(await executesRuns(context.db, unit.unit_id))) return
  await activate(unitAddress(context, unit), await activationOf(context.db, unit.deployment_id))
  context.log.info(factsOf(unit), "unit activated")
}

/** The edge sends it the requests that wait, as soon as it has the new table. */
async function admit(context: PipelineContext, unit: UnitRow): Promise<void> {
  await admitUnit(context.db, unit.unit_id)
  context.crashPoint("wake:after-row")
  await context.routing.publish()
  context.log.info(factsOf(unit), "unit gets requests")
}

async function hold(context: PipelineContext, unit: UnitRow): Promise<void> {
  await holdUnit(context.db, unit.unit_id)
  context.crashPoint("sleep:after-hold")
  await context.routing.publish()
}

/** Ends the process and nothing else: it is started again under the same id and at the same address. */
async function stop(context: PipelineContext, unit: UnitRow): Promise<void> {
  await context.routing.publish()
  // Asked last: a revision that was rolled back meanwhile retires, and its units finish what they have.
  if ((await unitById(context.db, unit.unit_id))?.role !== unit.role) return
  await context.machine.units.stop(unit.unit_id, { graceMs: context.limits.stopGraceMs })
  context.crashPoint("sleep:after-stop")
  await setConnections(context.db, unit.unit_id, 0)
  const now = await unitById(context.db, unit.unit_id)
  if (now) await shipUnitLog(context, now)
}

/** A deployment that is to sleep is woken instead when a unit is in use after all; the units of a paused one are stopped in any case. */
async function suspend(context: PipelineContext, unit: UnitRow): Promise<void> {
  await hold(context, unit)
  const deployment = await deploymentById(context.db, unit.deployment_id)
  if (deployment?.desired_run_state === "running" && (await isInUse(context, unit)))
    await wakeDeployment(context.db, unit.deployment_id)
  // Asked last: another replica may have woken the deployment meanwhile.
  if (await isWanted(context.db, unit.unit_id)) return
  await stop(context, unit)
  context.log.info(factsOf(unit), "unit suspended")
}

/**
 * Call it after `publish`: the unit gets no new request then, and earlier ones are in the counts of the edge or of the unit. One that runs and
 * does not answer, as a busy one, may have accepted a run.
 */
async function isInUse(context: PipelineContext, unit: UnitRow): Promise<boolean> {
  if (unit.role !== "serving") return false
  const open = await openAtTheEdge(context, unit)
  const idle = await askIdle(unitAddress(context, unit))
  if (open > 0) return true
  if (idle === "unsupported") return false
  return idle ? !idle.is_idle : (await context.machine.units.status(unit.unit_id)).state === "running"
}

/** The edge's table comes first: until then, a revision that was rolled back still gets requests, which would break off. */
async function remove(context: PipelineContext, unit: UnitRow): Promise<void> {
  const { db, machine, limits, crashPoint } = context
  await context.routing.publish()
  await machine.units.stop(unit.unit_id, { graceMs: limits.stopGraceMs })
  crashPoint("unit:after-stop")
  await shipUnitLog(context, unit)
  // The row last: while it exists, a control plane that was killed plans this action again.
  await machine.units.remove(unit.unit_id)
  crashPoint("unit:after-remove")
  await db.transaction(async (tx) => {
    await removeUnit(tx, unit)
    // A deletion waits until the last unit is gone.
    await wakePipeline(tx, unit.deployment_id)
  })
  context.log.info(factsOf(unit), "unit ended")
}

/**
 * From `publish` on nothing new comes; what came before, since the unit was seen to be idle, it finishes first. A unit that does not answer
 * may be busy: it stays. The plan removes it when it has ended or hangs.
 */
async function removeIfIdle(context: PipelineContext, unit: UnitRow): Promise<void> {
  await context.routing.publish()
  const report = await askStatus(unitAddress(context, unit))
  const isBusy = !report || report.running_runs > 0 || report.open_streams > 0
  if (isBusy || (await openAtTheEdge(context, unit)) > 0) return
  await remove(context, unit)
}

async function removeIfHung(context: PipelineContext, unit: UnitRow): Promise<void> {
  await context.routing.publish()
  if (!(await hangsStill(context, unit))) return
  await remove(context, unit)
}

/** Asked last: a unit that was seen to hang may answer again, and then it finishes what it has. */
const hangsStill = (context: PipelineContext, unit: UnitRow): Promise<boolean> =>
  hangs(unitAddress(context, unit), context.limits.hangMs / 2)

async function openAtTheEdge({ edge }: PipelineContext, { unit_id }: UnitRow): Promise<number> {
  const { units, silent = [] } = await edge.status()
  if (silent.length > 0) throw new Unavailable(`edges do not answer: ${silent.join(", ")}`, 1000)
  const { requests = 0, streams = 0, websockets = 0 } = units[unit_id] ?? {}
  return requests + streams + websockets
}

const factsOf = ({ unit_id, revision_id }: UnitRow) => ({ unit_id, revision_id })
