/** The table `mirrored_deployments`, and what is here of the rows that mirror those of the control plane. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

export interface Mirrored {
  readonly deployment_id: string
  readonly version: string
  readonly problem: string | null
  readonly is_deleted: boolean
  /** Whether the deployment itself is there; it may be about to be removed. */
  readonly is_here: boolean
}

export const mirroredDeployments = (db: Db): Promise<Mirrored[]> =>
  db.rows(sql`
    select m.*, d.deployment_id is not null as is_here
    from mirrored_deployments m left join deployments d using (deployment_id) order by m.deployment_id`)

export const saveMirrored = (
  tx: Db,
  it: {
    readonly deploymentId: string
    readonly version: string
    readonly problem?: string
    readonly isDeleted: boolean
  },
): Promise<number> =>
  tx.run(sql`
    insert into mirrored_deployments (deployment_id, version, problem, is_deleted)
    values (${it.deploymentId}, ${it.version}, ${it.problem ?? null}, ${it.isDeleted})
    on conflict (deployment_id) do update set version = excluded.version, problem = excluded.problem,
      is_deleted = excluded.is_deleted`)

export const forgetMirrored = (db: Db, deploymentId: string): Promise<number> =>
  db.run(sql`delete from mirrored_deployments where deployment_id = ${deploymentId}`)

export interface DeploymentHere {
  readonly workspace_id: string
  readonly is_deleted: boolean
  readonly latest_revision_id: string | null
}

/** Locks it. */
export const holdHere = (tx: Db, deploymentId: string): Promise<DeploymentHere | undefined> =>
  tx.row(sql`
    select workspace_id, delete_requested_at is not null as is_deleted, latest_revision_id
    from deployments where deployment_id = ${deploymentId} for update`)

export const revisionsHere = async (tx: Db, deploymentId: string): Promise<ReadonlySet<string>> => {
  const rows = await tx.rows<{ revision_id: string }>(
    sql`select revision_id from revisions where deployment_id = ${deploymentId}`,
  )
  return new Set(rows.map(({ revision_id }) => revision_id))
}
