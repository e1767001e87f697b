/**
 * Stopping a unit for a while, and letting it in again. The edge is told first, always: before a unit is stopped that
 * nothing new goes to it, and after it is ready that it may have what waited. So neither end costs a request.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { askIdle, askStatus } from "../runtimes/unit-client.js"
import type { PipelineContext } from "./context.js"
import { syncEdge } from "./edge-table.js"
import { shipUnitLog } from "./log-shipping.js"
import { holdBack, isWanted, letIn, setConnections, type UnitRow, unitById } from "./queries.js"
import { wakeDeployment } from "./sleep-queries.js"
import { unitAddress } from "./unit.js"

/**
 * The deployment is paused or sleeps. One that sleeps is woken instead when something came up in the last moment; one that
 * is paused is stopped with what it has.
 */
export async function suspend(context: PipelineContext, unit: UnitRow): Promise<void> {
  await holdBack(context.db, unit.unit_id)
  context.crashPoint("sleep:after-hold")
  await syncEdge(context)
  if (await isInUse(context, unit)) await wakeDeployment(context.db, unit.deployment_id)
  // Asked last: to look at the unit took time, in which another replica may have woken the deployment, and be back.
  if (await isWanted(context.db, unit.unit_id)) return
  await stopForNow(context, unit)
  context.log.info({ unit_id: unit.unit_id, revision_id: unit.revision_id }, "unit suspended")
}

/** From `syncEdge` on nothing new came; what came before shows in the edge's counts, or in the unit's own. */
async function isInUse(context: PipelineContext, unit: UnitRow): Promise<boolean> {
  if (unit.state !== "serving") return false
  const { units } = await context.edge.status()
  const { requests = 0, streams = 0, websockets = 0 } = units[unit.unit_id] ?? {}
  const idle = await askIdle(unitAddress(context, unit))
  return requests + streams + websockets > 0 || idle?.is_idle === false
}

/** Ends the process and nothing else: it is started again under the same id and at the same address. */
export async function stopForNow(context: PipelineContext, unit: UnitRow): Promise<void> {
  await syncEdge(context)
  await context.runtime.stop(unit.unit_id, { graceMs: context.limits.stopGraceMs })
  context.crashPoint("sleep:after-stop")
  await setConnections(context.db, unit.unit_id, 0)
  const now = await unitById(context.db, unit.unit_id)
  if (now) await shipUnitLog(context, now)
}

const pollMs = 50
// A caller waits for this one; a unit that takes longer is looked at again in a second, as all are.
const patienceMs = 3000

/**
 * Sends a unit what waits for it, as soon as it is ready.
 * @returns false when it is not ready yet
 */
export async function letInWhenReady(context: PipelineContext, unit: UnitRow): Promise<boolean> {
  const { db, runtime, limits, log, crashPoint } = context
  const deadline = performance.now() + patienceMs
  while (!(await askStatus(unitAddress(context, unit), AbortSignal.timeout(limits.hangMs / 2)))?.ready) {
    const isGone = (await runtime.status(unit.unit_id)).state !== "running"
    if (isGone || performance.now() > deadline) return false
    await sleep(pollMs)
  }
  await db.transaction((tx) => letIn(tx, unit))
  crashPoint("wake:after-row")
  await syncEdge(context)
  log.info({ unit_id: unit.unit_id, revision_id: unit.revision_id }, "unit is back")
  return true
}
