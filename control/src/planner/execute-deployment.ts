/** Executes the actions on a deployment as a whole. Each is safe to repeat. */

import { activate, askIdle, endPins } from "@superstep/machines/unit-client/unit-client"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { requireRoomForUnit } from "../deployments/room.js"
import { appendLogLines } from "../logs/operations.js"
import { recordReason } from "../revisions/queries.js"
import { shownMessage } from "../revisions/revision.js"
import {
  endStandby,
  lockPromotion,
  lockRoles,
  recordLoaded,
  recordScaled,
  retire,
  retireCanary,
  serveWith,
  setActiveRevision,
  switchBack,
} from "../revisions/role-queries.js"
import { endSleep, fallAsleep, wakeDeployment } from "../revisions/sleep-queries.js"
import { statusMessage } from "../revisions/status-message.js"
import { wakePipeline } from "../revisions/wake-up.js"
import { activationOf } from "./activation.js"
import { NoConnections, requireConnections } from "./connections.js"
import type { PipelineContext } from "./context.js"
import type { UnitFacts } from "./facts.js"
import type { Action } from "./plan.js"
import { recordUse, unitsOfDeployment } from "./queries.js"
import { countStaying, nextOrdinal, recordLeaving } from "./scale-queries.js"
import { insertUnit, unitAddress } from "./unit.js"

type WholeAction = Exclude<Action, { kind: "unit" }>

export async function executeOnDeployment(
  context: PipelineContext,
  deploymentId: string,
  action: WholeAction,
): Promise<void> {
  const { db, limits } = context
  switch (action.kind) {
    case "roll back":
      return rollBack(context, deploymentId, action)
    case "end watch":
      await endStandby(db, action.standby)
      context.crashPoint("watch:after-end")
      return context.routing.publish()
    case "promote":
      return promote(context, deploymentId, action.canary)
    case "abort":
      return abort(context, deploymentId, action)
    case "add unit":
      return addUnitForLoad(context, deploymentId, action)
    case "take unit away":
      return takeUnitAway(context, action.unit)
    case "record load":
      await recordLoaded(db, action.revision)
      return
    case "retire":
      await retire(db, action.revision, limits.drainMs)
      return
    case "end pins":
      return endPinsOf(context, deploymentId, action.revision)
    case "wake":
      await wakeDeployment(db, deploymentId)
      return
    case "end sleep":
      await endSleep(db, deploymentId)
      return
    case "record use":
      await recordUse(db, action.unit.unit_id, action.agoMs)
      return
    case "fall asleep":
      return sleepUnlessBusy(context, deploymentId, action.units)
  }
}

/** The revision keeps the status DEPLOYED, which is final; its message says why it was rolled back. */
async function rollBack(
  context: PipelineContext,
  deploymentId: string,
  { failed, code, reason }: Extract<Action, { kind: "roll back" }>,
): Promise<void> {
  const { db, limits, log } = context
  const to = await db.transaction(async (tx) => {
    const previous = await switchBack(tx, { deploymentId, failed, drainMs: limits.drainMs })
    if (previous === undefined) return undefined
    const message = shownMessage(statusMessage(code, `${reason}; revision ${previous} serves again`, []))
    await recordReason(tx, failed, { code, message })
    await appendLogLines(tx, failed, "deploy", [{ message: `rolled back (${code}): ${reason}`, level: "ERROR" }])
    await wakePipeline(tx, deploymentId)
    return previous
  })
  if (to === undefined) return
  context.crashPoint("watch:after-roll-back")
  // In the order of a switch. A unit that does not answer is activated by the planner, as soon as it does.
  // It does not keep the threads of the failed one: what its units pinned goes on elsewhere.
  const activation = await activationOf(db, deploymentId)
  const units = (await unitsOfDeployment(db, deploymentId)).filter(({ revision_id }) => revision_id === to)
  for (const unit of units) {
    await activate(unitAddress(context, unit), activation).catch((err: unknown) =>
      log.warn({ err, unit_id: unit.unit_id }, "the unit that serves again is not active yet"),
    )
  }
  await context.routing.publish()
  log.warn({ revision_id: failed, to, error_code: code }, "revision rolled back")
}

/** In the order of a switch: the canary executes all runs first, then the edge sends it all requests. Safe to repeat. */
export async function promote(context: PipelineContext, deploymentId: string, canary: string): Promise<void> {
  const { db, log, crashPoint } = context
  const activation = { ...(await activationOf(db, deploymentId)), canary: undefined }
  const units = (await unitsOfDeployment(db, deploymentId)).filter(({ revision_id }) => revision_id === canary)
  for (const unit of units) {
    // One that sleeps, or was stopped with its deployment, is activated when it runs again.
    const { state } = await context.machine.units.status(unit.unit_id)
    if (state === "running") await activate(unitAddress(context, unit), activation)
  }
  crashPoint("promote:after-activate")
  const isPromoted = await db.transaction(async (tx) => {
    if (!(await lockPromotion(tx, deploymentId, canary))) return false
    await serveWith(tx, { deploymentId, revisionId: canary })
    await setActiveRevision(tx, deploymentId, canary)
    return true
  })
  // It was aborted meanwhile: the plan activates the revision that serves.
  if (!isPromoted) return
  crashPoint("promote:after-role")
  await context.routing.publish()
  log.info({ deployment_id: deploymentId, revision_id: canary }, "canary promoted")
}

/** The revision keeps the status DEPLOYED, which is final; its message says why it was aborted. The plan activates the one that serves. */
async function abort(
  { db, limits, log, crashPoint }: PipelineContext,
  deploymentId: string,
  { canary: { revision_id: revisionId, weight }, code, reason }: Extract<Action, { kind: "abort" }>,
): Promise<void> {
  const message = shownMessage(statusMessage(code, `${reason}; it gets no more threads`, []))
  const isAborted = await db.transaction(async (tx) => {
    const canary = { deploymentId, revisionId, weight, drainMs: limits.drainMs }
    if (!(await retireCanary(tx, canary, { code, message }))) return false
    await appendLogLines(tx, revisionId, "deploy", [{ message: `aborted (${code}): ${reason}`, level: "ERROR" }])
    return true
  })
  if (!isAborted) return
  crashPoint("abort:after-role")
  log.warn({ deployment_id: deploymentId, revision_id: revisionId, error_code: code }, "canary aborted")
}

/** The plan starts it. Without room in the workspace's quotas it is tried again later. */
async function addUnitForLoad(
  { db, key, limits, log }: PipelineContext,
  deploymentId: string,
  { revision, reason }: Extract<Action, { kind: "add unit" }>,
): Promise<void> {
  const facts = { deployment_id: deploymentId, revision_id: revision }
  try {
    await db.transaction(async (tx) => {
      await lockRoles(tx, deploymentId)
      const ordinal = await nextOrdinal(tx, revision)
      if (ordinal === undefined) return
      await requireRoomForUnit(tx, limits, deploymentId)
      await requireConnections(tx, { units: 1, budget: limits.connections })
      await insertUnit(tx, key, { deploymentId, revisionId: revision, ordinal, isReady: false })
      await recordScaled(tx, revision)
      const units = await countStaying(tx, deploymentId)
      await appendLogLines(tx, revision, "deploy", [
        { message: `scaled to ${units} ${units === 1 ? "unit" : "units"}: ${reason}` },
      ])
    })
    log.info({ ...facts, reason }, "unit added")
  } catch (error) {
    if (!(error instanceof Conflict || error instanceof NoConnections)) throw error
    await recordScaled(db, revision)
    await appendLogLines(db, revision, "deploy", [{ message: `not scaled up: ${error.message}`, level: "WARNING" }])
    log.warn({ ...facts, err: error, reason }, "there is no room for another unit")
  }
}

async function takeUnitAway(
  { db, log }: PipelineContext,
  { unit_id, revision_id, deployment_id }: UnitFacts,
): Promise<void> {
  await db.transaction(async (tx) => {
    if ((await recordLeaving(tx, unit_id)) === 0) return
    await recordScaled(tx, revision_id)
    const units = await countStaying(tx, deployment_id)
    await appendLogLines(tx, revision_id, "deploy", [
      { message: `scaled to ${units} ${units === 1 ? "unit" : "units"}: fewer have been enough` },
    ])
  })
  log.info({ unit_id, revision_id, deployment_id }, "unit is taken away")
}

async function endPinsOf(context: PipelineContext, deploymentId: string, revisionId: string): Promise<void> {
  const serving = (await unitsOfDeployment(context.db, deploymentId)).find((unit) => unit.role === "serving")
  if (!serving) return
  await endPins(unitAddress(context, serving), revisionId)
  context.log.info({ deployment_id: deploymentId, revision_id: revisionId }, "pins of threads to a revision ended")
}

// A unit looks at its crons a second or two after its start, later on a busy machine.
const wakeLeadMs = 20_000

async function sleepUnlessBusy(
  context: PipelineContext,
  deploymentId: string,
  units: readonly UnitFacts[],
): Promise<void> {
  const { db, limits, log, crashPoint } = context
  let dueMs: number | undefined
  for (const unit of units) {
    const report = await askIdle(unitAddress(context, unit))
    // A unit that does not answer is not idle but in trouble; the plan restarts it if it hangs.
    if (!report || report === "unsupported") return
    if (!report.is_idle) return void (await recordUse(db, unit.unit_id, 0))
    if (report.next_due_ms !== null) dueMs = Math.min(report.next_due_ms, dueMs ?? report.next_due_ms)
  }
  // It would be woken again too soon.
  if (dueMs !== undefined && dueMs < limits.idleMs + wakeLeadMs) return
  await fallAsleep(db, deploymentId, dueMs === undefined ? undefined : dueMs - wakeLeadMs)
  crashPoint("sleep:after-row")
  log.info({ deployment_id: deploymentId, due_ms: dueMs }, "deployment falls asleep")
}
