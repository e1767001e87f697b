/**
 * switch: from one unit to the next. First the new one is made the one that executes runs, then the edge sends it the
 * requests: the other way round, a request for a graph that only the new revision has could be executed by the old one.
 * Runs and streams that the old unit has go on there.
 */
import { holdClaim, type Reason, recordReason } from "../revisions/claims.js"
import { wakePipeline } from "../revisions/wake-up.js"
import { activate } from "../runtimes/unit-client.js"
import { syncEdge } from "./edge-table.js"
import { serveWith, setActiveRevision, setUnitState, type UnitRow } from "./queries.js"
import type { RunStage, StageInput } from "./stage.js"
import { existingUnit, unitAddress } from "./unit.js"

export const runSwitch: RunStage = async ({ context, revision, signal }) => {
  const { db } = context
  context.crashPoint("switch:begin")
  const unit = await existingUnit(db, revision.revision_id)
  await activate(unitAddress(context, unit), signal)
  context.crashPoint("switch:after-activate")
  await db.transaction(async (tx) => {
    await holdClaim(tx, revision)
    await serveWith(tx, revision.deployment_id, unit.unit_id)
  })
  context.crashPoint("switch:before-push")
  await syncEdge(context)
  context.crashPoint("switch:after-push")
  await db.transaction(async (tx) => {
    await holdClaim(tx, revision)
    await setActiveRevision(tx, revision.deployment_id, revision.revision_id)
  })
  context.crashPoint("switch:after-commit")
  return { kind: "next", status: "DEPLOYING", stage: "verify" }
}

/**
 * Gives the requests and the runs back to the unit that served before. From now on it should run and be active, so the
 * reconciler sees to both.
 * @param previous  a draining unit of the same deployment
 * @param reason    is written on the revision in the same transaction, for one that does not fail but was DEPLOYED
 */
export async function switchBack(
  input: StageInput,
  { failed, previous, reason }: { failed: UnitRow; previous: UnitRow; reason?: Reason },
): Promise<void> {
  const { context, revision } = input
  await context.db.transaction(async (tx) => {
    if (reason) await recordReason(tx, revision, reason)
    else await holdClaim(tx, revision)
    await serveWith(tx, previous.deployment_id, previous.unit_id)
    await setUnitState(tx, failed.unit_id, "stopping")
    await setActiveRevision(tx, previous.deployment_id, previous.revision_id)
    await wakePipeline(tx, previous.deployment_id)
  })
  await syncEdge(context)
}
