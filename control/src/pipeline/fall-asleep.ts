/**
 * Lets deployments sleep that nobody uses. Use is a request (health checks apart), an open stream, a run that executes or
 * waits; a cron that is due before long keeps a deployment awake too. What was seen last is in the table, so neither a
 * restart of ours nor one of the edge makes a deployment look idle.
 */
import { askIdle } from "../runtimes/unit-client.js"
import type { EdgeState, PipelineContext } from "./context.js"
import { fallAsleep, noteUse, type RestlessUnit, unitsThatMaySleep, wakeDue } from "./sleep-queries.js"
import { unitAddress } from "./unit.js"

// From the start of a unit until its crons are looked at: a second or two, more on a machine that is busy.
const wakeLeadMs = 20_000

/** Never wakes what the look after finds to be idle again: see `wakeLeadMs` and `SUPERSTEP_IDLE_MINUTES`. */
export async function lookForSleepers(context: PipelineContext): Promise<void> {
  const { db, limits } = context
  await wakeDue(db)
  const units = await unitsThatMaySleep(db)
  if (units.length === 0) return
  const edge = await context.edge.status()
  const idle = new Map(units.map((unit) => [unit.unit_id, idleMsOf(unit, edge)]))
  for (const unit of units) await noteUse(db, unit.unit_id, idle.get(unit.unit_id) ?? 0)
  for (const deploymentId of new Set(units.map(({ deployment_id }) => deployment_id))) {
    const replicas = units.filter((unit) => unit.deployment_id === deploymentId)
    if (replicas.some(({ unit_id }) => (idle.get(unit_id) ?? 0) < limits.idleMs)) continue
    await sleepUnlessBusy(context, deploymentId, replicas)
  }
}

/** The edge knows what it saw since it started, the table what was seen before. */
const idleMsOf = (unit: RestlessUnit, edge: EdgeState): number =>
  Math.min(unit.idle_ms, edge.units[unit.unit_id]?.idle_ms ?? 0)

async function sleepUnlessBusy(
  context: PipelineContext,
  deploymentId: string,
  replicas: readonly RestlessUnit[],
): Promise<void> {
  const { db, limits, log, crashPoint } = context
  let dueMs: number | undefined
  for (const unit of replicas) {
    const report = await askIdle(unitAddress(context, unit))
    // One that says nothing is not idle but in trouble, which is for others to see to.
    if (!report) return
    if (!report.is_idle) return void (await noteUse(db, unit.unit_id, 0))
    if (report.next_due_ms !== null) dueMs = Math.min(report.next_due_ms, dueMs ?? report.next_due_ms)
  }
  // It would hardly have fallen asleep.
  if (dueMs !== undefined && dueMs < limits.idleMs + wakeLeadMs) return
  await fallAsleep(db, deploymentId, dueMs === undefined ? undefined : dueMs - wakeLeadMs)
  crashPoint("sleep:after-row")
  log.info({ deployment_id: deploymentId, due_ms: dueMs }, "deployment falls asleep")
}
