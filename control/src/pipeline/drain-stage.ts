/** drain: the old units finish what they have, and the new one is watched. Requests go to the new one all the while. */
import { appendLogLines } from "../logs/operations.js"
import { holdClaim, recordReason, recordWatchEnd } from "../revisions/claims.js"
import { wakePipeline } from "../revisions/wake-up.js"
import { activate, askReadiness, askStatus } from "../runtimes/unit-client.js"
import type { EdgeState } from "./context.js"
import { type Condition, type DrainDecision, type DrainFacts, decideDrain, worstOf } from "./drain.js"
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
  if (decision.kind === "roll back") return rollBack(input, units, decision)
  const endsWatch = decision.endsWatch && revision.watch_ended_at === null
  if (endsWatch || decision.stop.length > 0) await stop(input, decision.stop, endsWatch)
  context.crashPoint("drain:after-stop")
  if (decision.kind === "wait") return { kind: "wait", delayMs: lookAgainMs }
  context.crashPoint("drain:before-advance")
  return { kind: "next", status: "DEPLOYED", stage: null }
}

/** Looking took time, in which the claim may have been lost and a unit may have begun to serve again. */
const stop = ({ context, revision }: StageInput, unitIds: readonly string[], endsWatch: boolean): Promise<void> =>
  context.db.transaction(async (tx) => {
    await holdClaim(tx, revision)
    if (endsWatch) await recordWatchEnd(tx, revision)
    await stopDraining(tx, unitIds)
    await wakePipeline(tx, revision.deployment_id)
  })

async function factsOf({ context, revision }: StageInput, units: readonly UnitRow[]): Promise<DrainFacts> {
  const edge = await context.edge.status()
  const looked = units.map(async (unit) => ({ ...unit, isIdle: await isIdle(context, edge, unit) }))
  const own = units.filter(({ revision_id }) => revision_id === revision.revision_id)
  const serves = own.some(({ state }) => state === "serving")
  return {
    units: await Promise.all(looked),
    revisionId: revision.revision_id,
    deployedMs: await deployedMs(context.db, revision.revision_id),
    isReplaced: !serves,
    isWatchOver: revision.watch_ended_at !== null,
    condition: worstOf(await Promise.all(own.map((unit) => conditionOf(context, unit)))),
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

const conditions = { ready: "up", "not ready": "down", silent: "silent" } as const

/** One that sleeps or is paused does as it should. */
async function conditionOf(context: StageInput["context"], unit: UnitRow): Promise<Condition> {
  const { state } = await context.runtime.status(unit.unit_id)
  if (state !== "running") return state === "absent" && !unit.is_down ? "up" : "down"
  return conditions[await askReadiness(unitAddress(context, unit))]
}

/** The revision keeps its DEPLOYED, which is final, and says what became of it. */
async function rollBack(
  input: StageInput,
  units: readonly UnitRow[],
  { to, code, said }: Extract<DrainDecision, { kind: "roll back" }>,
): Promise<StageOutcome> {
  const { context, revision } = input
  const { revision_id: failed, deployment_id: deploymentId } = revision
  const message = statusMessage(code, `${said}; revision ${to} serves again`, [])
  await context.db.transaction(async (tx) => {
    await recordReason(tx, revision, { code, message })
    await appendLogLines(tx, failed, "deploy", [{ message: `rolled back (${code}): ${said}`, level: "ERROR" }])
    await switchBack(tx, { deploymentId, failed, previous: to })
    await wakePipeline(tx, deploymentId)
  })
  context.crashPoint("drain:after-roll-back")
  // In the order of a switch. One that does not answer is activated by the reconciler, as soon as it does.
  for (const unit of units.filter(({ revision_id }) => revision_id === to)) {
    await activate(unitAddress(context, unit)).catch((err: unknown) =>
      context.log.warn({ err, unit_id: unit.unit_id }, "the unit that serves again is not active yet"),
    )
  }
  await syncEdge(context)
  context.log.warn({ revision_id: failed, to, error_code: code }, "revision rolled back")
  return { kind: "next", status: "DEPLOYED", stage: null }
}
