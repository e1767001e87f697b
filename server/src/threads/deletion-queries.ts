/** Removing threads with all that belongs to them. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { matchesFilter } from "../auth/queries.js"

/**
 * The threads on which an assistant ran last, or which name it in their metadata. They are locked, in the order of their
 * ids as everywhere (functions/runs.sql), until the transaction ends.
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
 * stop; what they still write is refused, since the claim is gone with the run (T3).
 * @returns the runs that were waiting or running, whose clients must be told
 */
export async function deleteThreads(tx: Db, threadIds: readonly string[]): Promise<string[]> {
  const rows = await tx.rows<{ run_id: string }>(sql`
    select unnest(delete_thread(thread_id)) as run_id from unnest(${threadIds}::uuid[]) as gone (thread_id)`)
  return rows.map(({ run_id }) => run_id)
}

/**
 * Deletes one thread.
 * @returns as above; undefined when the caller sees no such thread
 */
export async function deleteThread(db: Db, threadId: string, filter?: MetadataFilter): Promise<string[] | undefined> {
  const row = await db.row<{ stopped: string[] | null }>(sql`
    select delete_thread(thread_id) as stopped from threads
    where thread_id = ${threadId} and ${matchesFilter(sql`searchable_metadata`, filter)}`)
  return row?.stopped ?? undefined
}
