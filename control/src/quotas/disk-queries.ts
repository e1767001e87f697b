/** The disk that all deployments of a workspace use. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

/** Artifacts and caches as last measured, and uploaded archives. A deployment counts until its files are deleted. In megabytes. */
export const diskUseOf = async (db: Db, workspaceId: string): Promise<number> => {
  const row = await db.row<{ disk_mb: number }>(sql`
    select coalesce(sum(d.disk_mb), 0) + coalesce((
      select sum(u.size_bytes) from uploads u join deployments of_upload using (deployment_id)
      where of_upload.workspace_id = ${workspaceId} and u.removed_at is null), 0)::bigint / 1048576 as disk_mb
    from deployments d where d.workspace_id = ${workspaceId}`)
  return row?.disk_mb ?? 0
}

/** Deployments whose disk was never measured: a release before this one built them. */
export const unmeasuredDeployments = async (db: Db): Promise<string[]> => {
  const rows = await db.rows<{ deployment_id: string }>(sql`
    select deployment_id from deployments where disk_mb is null and delete_requested_at is null`)
  return rows.map(({ deployment_id }) => deployment_id)
}
