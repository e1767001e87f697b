/** Locks a deployment's row for a transaction: every change of a deployment starts here (D4). */
import type { Db } from "@superstep/toolkit/db/database"
import { Conflict, NotFound, PreconditionFailed } from "@superstep/toolkit/errors/errors"
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

/**
 * The same, for changes that need the deployment to stay.
 * @param expectedVersions  the `If-Match` header's versions; undefined when any will do
 * @throws NotFound
 * @throws Conflict            it is being deleted
 * @throws PreconditionFailed  it has another version
 */
export async function holdForChange(
  tx: Db,
  ids: DeploymentIds,
  expectedVersions?: readonly number[],
): Promise<DeploymentRow> {
  const deployment = await holdDeployment(tx, ids)
  if (deployment.delete_requested_at) {
    throw new Conflict(`Deployment ID ${ids.deploymentId} is being deleted.`, "being_deleted")
  }
  checkVersion(deployment, expectedVersions)
  return deployment
}

/** @throws PreconditionFailed */
export function checkVersion(deployment: DeploymentRow, expectedVersions: readonly number[] | undefined): void {
  if (expectedVersions && !expectedVersions.includes(deployment.version)) {
    throw new PreconditionFailed("The deployment has changed since it was read: read it again, then repeat the change")
  }
}
