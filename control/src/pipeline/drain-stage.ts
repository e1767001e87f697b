/** drain: the old units finish what they have, and the new one is watched. Requests go to the new one all the while. */
import { holdClaim, recordReason } from "../revisions/claims.js"
import { wakePipeline } from "../revisions/wake-up.js"
import { askStatus } from "../runtimes/unit-client.js"
import type { EdgeState } from "./context.js"
import { type DrainFacts, decideDrain } from "./drain.js"
import { syncEdge } from "./edge-table.js"
import { statusMessage } from "./failures.js"
import { deployedMs, stopDraining, type UnitRow, unitsOfDeployment } from "./queries.js"
import type { RunStage, StageInput, StageOutcome } from "./stage.js"
import { switchBack } from "./switch-back.js"
import { unitAddress } from "./unit.js"

// Nobody waits for this: an old unit may live a second longer.
const lookAgainMs = 1000

export const runDrain: RunStage = async (input) => {
  const { context, revision } = input
  context.crashPoint("drain:begin")
  const units = await unitsOfDeployment(context.db, revision.deployment_id)
  const decision = decideDrain(await factsOf(input, units), context.limits)
  if (decision.kind === "roll back") return rollBack(input, units, decision.to)
  if (decision.stop.length > 0) await stop(input, decision.stop)
  if (decision.kind === "wait") return { kind: "wait", delayMs: lookAgainMs }
  context.crashPoint("drain:before-advance")
  return { kind: "next", status: "DEPLOYED", stage: null }
}

/** Looking took time, in which the claim may have been lost and a unit may have begun to serve again. */
const stop = ({ context, revision }: StageInput, unitIds: readonly string[]): Promise<void> =>
  context.db.transaction(async (tx) => {
    await holdClaim(tx, revision)
    await stopDraining(tx, unitIds)
    await wakePipeline(tx, revision.deployment_id)
  })

async function factsOf({ context, revision }: StageInput, units: readonly UnitRow[]): Promise<DrainFacts> {
  const edge = await context.edge.status()
  const looked = units.map(async (unit) => ({ ...unit, isIdle: await isIdle(context, edge, unit) }))
  const serves = units.some(({ revision_id, state }) => revision_id === revision.revision_id && state === "serving")
  return {
    units: await Promise.all(looked),
    revisionId: revision.revision_id,
    deployedMs: await deployedMs(context.db, revision.revision_id),
    isReplaced: !serves,
  }
}

async function isIdle(context: StageInput["context"], edge: EdgeState, unit: UnitRow): Promise<boolean> {
  if (unit.state !== "draining") return false
  const open = edge.units[unit.unit_id]
  if (open && open.requests + open.streams + open.websockets > 0) return false
  if ((await context.runtime.status(unit.unit_id)).state !== "running") return true
  const report = await askStatus(unitAddress(context, unit))
  return report !== undefined && report.running_runs === 0 && report.open_streams === 0
}

/** The revision keeps its DEPLOYED, which is final, and says what became of it. */
async function rollBack(input: StageInput, units: readonly UnitRow[], to: string): Promise<StageOutcome> {
  const { context, revision } = input
  const { revision_id: failed, deployment_id: deploymentId } = revision
  const crashes = units.filter((unit) => unit.revision_id === failed).reduce((sum, unit) => sum + unit.crashes, 0)
  const said = `the agent server ended ${crashes} times after it took over`
  const message = statusMessage("crash_loop", `${said}; revision ${to} serves again`, [])
  await context.db.transaction(async (tx) => {
    await recordReason(tx, revision, { code: "crash_loop", message })
    await switchBack(tx, { deploymentId, failed, previous: to })
    await wakePipeline(tx, deploymentId)
  })
  await syncEdge(context)
  context.log.warn({ revision_id: failed, to }, "revision rolled back")
  return { kind: "next", status: "DEPLOYED", stage: null }
}
