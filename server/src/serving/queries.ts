/** Which revision's servers claim runs: one row, written when a revision is activated (protocol/unit). */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

/** Makes a revision the one that claims, and wakes its servers. */
export const setServingRevision = (db: Db, revisionId: string): Promise<number> =>
  db.run(sql`
    with served as (
      insert into serving (revision_id) values (${revisionId})
      on conflict (is_only_row) do update set revision_id = excluded.revision_id)
    select pg_notify('runs_pending', ''), pg_notify('serving_changed', '')`)

/** Whether servers of this revision may claim; one without a revision always may. */
export const isServing = async (db: Db, revisionId: string | null): Promise<boolean> => {
  const row = await db.row<{ may: boolean }>(sql`select may_claim(${revisionId}) as may`)
  return row?.may ?? false
}
