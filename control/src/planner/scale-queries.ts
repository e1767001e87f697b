/** How many units a revision that serves has, by its load. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

/** The units of the revision that serves a deployment, without those that leave. */
export async function countStaying(db: Db, deploymentId: string): Promise<number> {
  const row = await db.row<{ units: number }>(sql`
    select count(*) as units from units u join revisions r using (revision_id)
    where u.deployment_id = ${deploymentId} and r.role = 'serving' and u.leaving_since is null`)
  return row?.units ?? 0
}

/** Call it under `lockRoles`: one unit is added at a time. @returns undefined when the revision serves no more */
export async function nextOrdinal(tx: Db, revisionId: string): Promise<number | undefined> {
  const row = await tx.row<{ next: number }>(sql`
    select (select coalesce(max(ordinal), -1) + 1 from units u where u.revision_id = r.revision_id) as next
    from revisions r where revision_id = ${revisionId} and role = 'serving'`)
  return row?.next
}

/** Takes a unit away. @returns 0 when its revision serves no more */
export const recordLeaving = (tx: Db, unitId: string): Promise<number> =>
  tx.run(sql`
    update units u set leaving_since = superstep_now() from revisions r
    where u.unit_id = ${unitId} and r.revision_id = u.revision_id and r.role = 'serving' and u.leaving_since is null`)
