/**
 * switch: moves from one revision's units to the next. First the new units start to execute runs, then the edge sends them
 * requests: in the other order, an old unit could execute a request for a graph that only the new revision has. Runs and
 * streams of the old units go on there.
 */

import { activate, askStatus } from "@superstep/machines/unit-client/unit-client"
import type { Db } from "@superstep/toolkit/db/database"
import { activationOf } from "../planner/activation.js"
import type { PipelineContext } from "../planner/context.js"
import { promote } from "../planner/execute-deployment.js"
import { unitsOfDeployment, unitsOfRevision } from "../planner/queries.js"
import { unitAddress } from "../planner/unit.js"
import { holdClaim } from "../revisions/claims.js"
import { lockRoles, promotedCanary, serveWith, setActiveRevision, startCanary } from "../revisions/role-queries.js"
import { untilAllReady } from "./deploy-stage.js"
import { checkOrphans } from "./orphaned-threads.js"
import type { RunStage, StageInput } from "./stage.js"

export const runSwitch: RunStage = async (input) => {
  const { context, revision, deployment, signal } = input
  const { db } = context
  context.crashPoint("switch:begin")
  const units = await unitsOfRevision(db, revision.revision_id)
  // One may have ended since it was ready. None is waited for when this stage was killed after they began to serve. A canary that was
  // aborted after such a kill has none left.
  const starting = units.filter(({ role }) => role === "starting")
  await untilAllReady(input, starting)
  const [asked] = starting
  if (asked) await checkOrphans(input, asked)
  if (await becomesCanary(input)) return { kind: "next", status: "DEPLOYED", stage: null }
  if (units.length === 0) {
    // One that has lost its claim lost its units, too.
    await underClaim(input, async () => undefined)
    throw new Error(`revision ${revision.revision_id} has no unit`)
  }
  const activation = { ...(await activationOf(db, deployment.deployment_id)), canary: undefined }
  for (const unit of units) await activate(unitAddress(context, unit), activation, signal)
  context.crashPoint("switch:after-activate")
  const ids = { deploymentId: revision.deployment_id, revisionId: revision.revision_id }
  await underClaim(input, (tx) => serveWith(tx, ids))
  context.crashPoint("switch:before-push")
  // Starts an edge that has just died, instead of failing.
  await context.edge.ensure()
  await context.routing.publish()
  context.crashPoint("switch:after-push")
  await underClaim(input, (tx) => setActiveRevision(tx, ids.deploymentId, ids.revisionId))
  context.crashPoint("switch:after-commit")
  return { kind: "next", status: "DEPLOYING", stage: "verify" }
}

/** Changes the deployment while the revision is ours. Locks as a deletion does: the deployment, then its revisions. @throws ClaimLost */
const underClaim = <T>({ context, revision }: StageInput, change: (tx: Db) => Promise<T>): Promise<T> =>
  context.db.transaction(async (tx) => {
    await lockRoles(tx, revision.deployment_id)
    await holdClaim(tx, revision)
    return change(tx)
  })

/**
 * A revision with a weight becomes the canary of the one that serves, if one does, and gets its share of the threads. A former canary that is
 * to take over does so first.
 */
async function becomesCanary(input: StageInput): Promise<boolean> {
  const { context, revision, signal } = input
  const { deployment_id: deploymentId, revision_id: revisionId } = revision
  if (revision.weight !== null) {
    const promoted = await promotedCanary(context.db, deploymentId)
    if (promoted !== undefined && promoted !== revisionId) await promote(context, deploymentId, promoted)
  }
  const isCanary = await underClaim(input, (tx) => startCanary(tx, { deploymentId, revisionId }))
  context.crashPoint("switch:after-canary")
  if (isCanary === "yes") await shareOut(context, deploymentId, signal)
  return isCanary !== "no"
}

/**
 * One unit of the revision that serves is told: the share is in the deployment's database, where all of them read it. While none runs, as in a
 * deployment that sleeps, no thread can begin, and the planner tells the first that is ready.
 */
async function shareOut(context: PipelineContext, deploymentId: string, signal: AbortSignal): Promise<void> {
  for (const unit of await unitsOfDeployment(context.db, deploymentId)) {
    if (unit.role !== "serving" || (await context.machine.units.status(unit.unit_id)).state !== "running") continue
    const address = unitAddress(context, unit)
    // One of an older release knows no shares: the planner replaces it.
    if (!(await askStatus(address, signal))?.traffic) continue
    return activate(address, await activationOf(context.db, deploymentId), signal)
  }
}
