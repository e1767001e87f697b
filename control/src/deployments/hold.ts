/** Locks a deployment's row for a transaction: every change of a deployment starts here (D4). */
import type { Db } from "@superstep/toolkit/db/database"
import { Conflict, NotFound, PreconditionFailed, Refused } from "@superstep/toolkit/errors/errors"
import { type DeploymentRow, lockDeployment } from "./queries.js"

export interface DeploymentIds {
  readonly workspaceId: string
  readonly deploymentId: string
}

export const deploymentNotFound = (deploymentId: string): NotFound =>
  new NotFound(`Deployment ID ${deploymentId} not found.`)

/** @throws NotFound  also for deployments of other workspaces */
export async function holdDeployment(tx: Db, { workspaceId, deploymentId }: DeploymentIds): Promise<DeploymentRow> {
  const deployment = await lockDeployment(tx, workspaceId, deploymentId)
  if (!deployment) throw deploymentNotFound(deploymentId)
  return deployment
}

/** The same, for additions that need the deployment to stay. @throws NotFound @throws Conflict  it is being deleted */
export async function holdKept(tx: Db, ids: DeploymentIds): Promise<DeploymentRow> {
  const deployment = await holdDeployment(tx, ids)
  if (deployment.delete_requested_at) {
    throw new Conflict(`Deployment ID ${ids.deploymentId} is being deleted.`, "being_deleted")
  }
  return deployment
}

/**
 * The same, for changes.
 * @param expectedVersions  the `If-Match` header's versions; undefined when any will do
 * @throws NotFound
 * @throws Conflict            it is being deleted
 * @throws Refused             a control plane decides about it
 * @throws PreconditionFailed  it has another version
 */
export async function holdForChange(
  tx: Db,
  ids: DeploymentIds,
  expectedVersions?: readonly number[],
): Promise<DeploymentRow> {
  const deployment = await holdKept(tx, ids)
  checkOwn(deployment)
  checkVersion(deployment, expectedVersions)
  return deployment
}

/** @throws Refused  the deployment mirrors one of a control plane, whose next change would undo this one */
export function checkOwn({ deployment_id: id, is_mirrored: isMirrored }: DeploymentRow): void {
  if (!isMirrored) return
  const words = `Deployment ID ${id} belongs to the control plane of which this installation is a listener: change it there`
  throw new Refused(words, "mirrored")
}

/** @throws PreconditionFailed */
export function checkVersion(deployment: DeploymentRow, expectedVersions: readonly number[] | undefined): void {
  if (expectedVersions && !expectedVersions.includes(deployment.version)) {
    throw new PreconditionFailed("The deployment has changed since it was read: read it again, then repeat the change")
  }
}
