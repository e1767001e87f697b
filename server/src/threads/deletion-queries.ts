/** Removing threads with all that belongs to them. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { matchesFilter } from "../auth/queries.js"

/**
 * The threads on which an assistant ran last, or which name it in their metadata. They are locked, in the order of their
 * ids as everywhere (000003), until the transaction ends.
 */
export async function lockThreadsOf(
  tx: Db,
  assistantId: string,
  filter: MetadataFilter | undefined,
): Promise<string[]> {
  const wanted = JSON.stringify({ assistant_id: assistantId })
  const rows = await tx.rows<{ thread_id: string }>(sql`
    select thread_id from threads
    where searchable_metadata @> ${wanted}::jsonb and ${matchesFilter(sql`searchable_metadata`, filter)}
    order by thread_id for update`)
  return rows.map(({ thread_id }) => thread_id)
}

/**
 * Deletes threads that the caller has locked, with their runs and checkpoints. Workers of running runs are asked to
 * stop; what they still write is refused, since the claim is gone with the run.
 * @returns the runs that were waiting or running, whose clients must be told
 */
export async function deleteThreads(tx: Db, threadIds: readonly string[]): Promise<string[]> {
  const inFlight = await tx.rows<{ run_id: string }>(sql`
    select run_id, case when status = 'running' then pg_notify('run_cancel', run_id::text) end
    from (select run_id, status from runs where thread_id = any (${threadIds}::uuid[]) and status in ('pending', 'running')
      order by run_id for update) as runs`)
  await tx.run(sql`select delete_checkpoints(thread_id) from unnest(${threadIds}::uuid[]) as gone (thread_id)`)
  await tx.run(sql`delete from threads where thread_id = any (${threadIds}::uuid[])`)
  return inFlight.map(({ run_id }) => run_id)
}
