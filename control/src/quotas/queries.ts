/** The table `workspace_quotas`. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { OwnQuotas } from "./quota.js"

export const ownQuotas = (db: Db, workspaceId: string): Promise<OwnQuotas | undefined> =>
  db.row(
    sql`select deployments, units, memory_mb, cpu, builds, disk_mb, host_names
      from workspace_quotas where workspace_id = ${workspaceId}`,
  )

/** Replaces the quotas that were set before. */
export const storeQuotas = (tx: Db, workspaceId: string, own: OwnQuotas): Promise<number> =>
  tx.run(sql`
    insert into workspace_quotas (workspace_id, deployments, units, memory_mb, cpu, builds, disk_mb, host_names)
    values (${workspaceId}, ${own.deployments}, ${own.units}, ${own.memory_mb}, ${own.cpu}, ${own.builds},
      ${own.disk_mb}, ${own.host_names})
    on conflict (workspace_id) do update set deployments = excluded.deployments, units = excluded.units,
      memory_mb = excluded.memory_mb, cpu = excluded.cpu, builds = excluded.builds,
      disk_mb = excluded.disk_mb, host_names = excluded.host_names, updated_at = now()`)
