/** Measures what a deployment keeps on disk, and keeps its workspace within the quota `disk_mb`. */

import { recordDiskUse } from "../deployments/room.js"
import type { PipelineContext } from "../planner/context.js"
import { type DiskUse, readDiskUse } from "../quotas/operations.js"
import { artifactExists, artifactsOf } from "../revisions/artifact-queries.js"
import { DeployFailed } from "./failures.js"
import type { StageInput } from "./stage.js"

type DiskContext = Pick<PipelineContext, "db" | "machine" | "limits">

/**
 * Measures artifacts and caches of a deployment, and stores the result. Files that several of them share count once.
 * @param added  an artifact that has no row yet
 * @returns      the present use of its workspace
 */
export async function measureDisk(
  { db, machine, limits }: DiskContext,
  deployment: { readonly deployment_id: string; readonly workspace_id: string },
  added?: string,
): Promise<DiskUse> {
  const { deployment_id: deploymentId, workspace_id: workspaceId } = deployment
  const ids = new Set((await artifactsOf(db, deploymentId)).map(({ artifact_id }) => artifact_id))
  if (added !== undefined) ids.add(added)
  const diskMb = await machine.artifacts.usedMb(deploymentId, [...ids])
  return recordDiskUse(db, { deploymentId, workspaceId, diskMb, defaultMb: limits.diskOfAWorkspaceMb })
}

/**
 * Refuses a build before it starts, by what was measured last: measuring a large deployment takes as long as a small build.
 * @throws DeployFailed  `disk_quota`
 */
export async function requireDisk({ context, deployment }: StageInput): Promise<void> {
  const use = await readDiskUse(context.db, deployment.workspace_id, context.limits.diskOfAWorkspaceMb)
  if (use.usedMb > use.limitMb) throw exceeded(use, "its deployments use")
}

/**
 * Measures after a build, and gives back what it has left when that exceeds the quota.
 * @param artifactId  what it has published; undefined when it failed
 * @returns           the error for a build that published
 */
export async function settleDisk(
  { context, revision, deployment }: StageInput,
  artifactId: string | undefined,
): Promise<DeployFailed | undefined> {
  const use = await measureDisk(context, deployment, artifactId)
  if (use.usedMb <= use.limitMb) return undefined
  const { builds, artifacts } = context.machine
  if (artifactId !== undefined && !(await artifactExists(context.db, artifactId))) {
    // Without its artifact it must run again if we die before the revision has failed.
    await builds.forgetResult(revision.revision_id)
    await artifacts.remove(artifactId)
  }
  await artifacts.removeCache(deployment.deployment_id)
  await measureDisk(context, deployment)
  return exceeded(use, "with this build, its deployments use")
}

const exceeded = ({ usedMb, limitMb }: DiskUse, what: string): DeployFailed =>
  new DeployFailed("disk_quota", `the quota disk_mb of this workspace is ${limitMb}: ${what} ${usedMb} MB`)
