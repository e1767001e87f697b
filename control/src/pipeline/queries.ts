/** The pipeline's queries about deployments. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { DeploymentStatus } from "../deployments/deployment.js"

/** Stores name and password of the database before it is created. The first call wins, and its password counts. */
export const nameDatabase = (db: Db, deploymentId: string, name: string, passwordSealed: string): Promise<number> =>
  db.run(sql`
    update deployments set database_name = ${name}, database_password_sealed = ${passwordSealed}
    where deployment_id = ${deploymentId} and database_name is null and delete_requested_at is null`)

/** Stores how many paused threads a new revision could not go on with. */
export const recordOrphans = (db: Db, revisionId: string, orphaned: number): Promise<number> =>
  db.run(sql`update revisions set orphaned_threads = ${orphaned} where revision_id = ${revisionId}`)

/** @returns  0 when the deployment is to be deleted */
export const markReady = (db: Db, deploymentId: string): Promise<number> =>
  db.run(sql`
    update deployments set updated_at = superstep_now(),
      status = case status when 'AWAITING_DATABASE' then 'READY' else status end
    where deployment_id = ${deploymentId} and delete_requested_at is null`)

export const allDeploymentIds = async (db: Db): Promise<ReadonlySet<string>> => {
  const rows = await db.rows<{ deployment_id: string }>(sql`select deployment_id from deployments`)
  return new Set(rows.map(({ deployment_id }) => deployment_id))
}

export const setDeploymentStatus = (db: Db, deploymentId: string, status: DeploymentStatus): Promise<number> =>
  db.run(
    sql`update deployments set status = ${status}, updated_at = superstep_now() where deployment_id = ${deploymentId}`,
  )

/** Takes every unfinished revision from its process, which notices at its next renewal. */
export const endPipelineOf = (db: Db, deploymentId: string): Promise<number> =>
  db.run(sql`
    update revisions set stage = null, lease_owner = null, lease_until = null, fence = fence + 1, updated_at = superstep_now(),
      status = case status when 'DEPLOYED' then status else 'INTERRUPTED' end,
      error_code = case status when 'DEPLOYED' then error_code else 'interrupted' end,
      finished_at = coalesce(finished_at, superstep_now())
    where deployment_id = ${deploymentId} and stage is not null`)

export const revisionIdsOf = async (db: Db, deploymentId: string): Promise<ReadonlySet<string>> => {
  const rows = await db.rows<{ revision_id: string }>(sql`
    select revision_id from revisions where deployment_id = ${deploymentId}`)
  return new Set(rows.map(({ revision_id }) => revision_id))
}

export async function removeDeployment(tx: Db, deploymentId: string): Promise<void> {
  await tx.run(sql`
    update deployments set latest_revision_id = null, active_revision_id = null where deployment_id = ${deploymentId}`)
  await tx.run(sql`delete from deployments where deployment_id = ${deploymentId}`)
}

/** Revisions that are being fetched or built, among the folders below `work`. */
export const revisionsInBuild = async (db: Db): Promise<ReadonlySet<string>> => {
  const rows = await db.rows<{ revision_id: string }>(sql`
    select revision_id from revisions where stage in ('fetch', 'build')`)
  return new Set(rows.map(({ revision_id }) => revision_id))
}
