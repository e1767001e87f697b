/** The pipeline's queries about deployments. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

export const allDeploymentIds = async (db: Db): Promise<ReadonlySet<string>> => {
  const rows = await db.rows<{ deployment_id: string }>(sql`select deployment_id from deployments`)
  return new Set(rows.map(({ deployment_id }) => deployment_id))
}

export const revisionIdsOf = async (db: Db, deploymentId: string): Promise<ReadonlySet<string>> => {
  const rows = await db.rows<{ revision_id: string }>(sql`
    select revision_id from revisions where deployment_id = ${deploymentId}`)
  return new Set(rows.map(({ revision_id }) => revision_id))
}

/** Revisions that are being fetched or built, among the folders below `work`. */
export const revisionsInBuild = async (db: Db): Promise<ReadonlySet<string>> => {
  const rows = await db.rows<{ revision_id: string }>(sql`
    select revision_id from revisions where stage in ('fetch', 'build')`)
  return new Set(rows.map(({ revision_id }) => revision_id))
}
