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

/**
 * Whether nothing waits or executes, and when that ends by itself: the time until the first cron, delayed run or delivery
 * of a webhook is due.
 * @returns `next_due_ms` in milliseconds from now
 */
export const idleness = async (db: Db): Promise<{ is_idle: boolean; next_due_ms: number | null }> => {
  // Ordered, so that Postgres takes the small indexes (runs/claims.ts, lookAtQueue).
  const row = await db.row<{ is_idle: boolean; next_due_ms: number | null }>(sql`
    select (select seq from runs where status = 'running' order by lease_until limit 1) is null
        and (select seq from runs where status = 'pending' and not_before <= now() order by not_before, seq limit 1) is null as is_idle,
      extract(epoch from least(
        (select min(next_run_date) from crons),
        (select min(not_before) from runs where status = 'pending' and not_before > now()),
        (select min(next_try_at) from webhook_deliveries)) - now())::float8 * 1000 as next_due_ms`)
  if (!row) throw new Error("a question without a table has an answer")
  return row
}

/** Whether servers of this revision may claim; one without a revision always may. */
export const isServing = async (db: Db, revisionId: string | null): Promise<boolean> => {
  const row = await db.row<{ may: boolean }>(sql`select may_claim(${revisionId}) as may`)
  return row?.may ?? false
}
