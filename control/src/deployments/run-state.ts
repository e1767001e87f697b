/**
 * Pauses, resumes and restarts: stores the run state that the owner wants, which `pipeline/` then carries out. None of it
 * creates a revision.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { wakePipeline } from "../revisions/wake-up.js"
import { type DeploymentIds, deploymentNotFound, holdForChange } from "./hold.js"
import { askForRestart, type DeploymentRow, deploymentById, type RunState, setDesiredRunState } from "./queries.js"

/**
 * Sets whether a deployment should run. Changes nothing if that is so already.
 * @throws NotFound | Conflict | PreconditionFailed
 */
export async function setRunState(
  tx: Db,
  ids: DeploymentIds,
  wanted: { readonly runState: RunState; readonly expectedVersions?: readonly number[] | undefined },
): Promise<DeploymentRow> {
  await holdForChange(tx, ids, wanted.expectedVersions)
  await setDesiredRunState(tx, ids, wanted.runState)
  return woken(tx, ids)
}

/**
 * Requests new processes for the serving revision.
 * @throws NotFound | PreconditionFailed
 * @throws Conflict  it is paused, or being deleted
 */
export async function restart(
  tx: Db,
  ids: DeploymentIds,
  { expectedVersions }: { readonly expectedVersions?: readonly number[] | undefined },
): Promise<DeploymentRow> {
  const deployment = await holdForChange(tx, ids, expectedVersions)
  if (deployment.desired_run_state === "paused") {
    throw new Conflict(`Deployment ID ${ids.deploymentId} is paused: resume it`, "paused")
  }
  await askForRestart(tx, ids)
  return woken(tx, ids)
}

async function woken(tx: Db, ids: DeploymentIds): Promise<DeploymentRow> {
  await wakePipeline(tx, ids.deploymentId)
  const changed = await deploymentById(tx, ids.workspaceId, ids.deploymentId)
  if (!changed) throw deploymentNotFound(ids.deploymentId)
  return changed
}
