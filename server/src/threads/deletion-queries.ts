/** Removes threads with everything that belongs to them. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { toJsonText } from "@superstep/toolkit/http/json"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { matchesFilter } from "../auth/queries.js"
import type { StoppingRun } from "../servers/server.js"

/**
 * Locks threads on which an assistant ran last, or that name it in their metadata, until the transaction ends. The locks are taken in the
 * order of ids, as everywhere (functions/runs.sql).
 * @param most  how many at most
 * @returns     `isAll`: there are no others
 */
export async function lockThreadsOf(
  tx: Db,
  assistantId: string,
  { filter, most }: { readonly filter: MetadataFilter | undefined; readonly most: number },
): Promise<{ readonly threadIds: readonly string[]; readonly isAll: boolean }> {
  const wanted = toJsonText({ assistant_id: assistantId })
  const isWanted = sql`searchable_metadata @> ${wanted}::jsonb and ${matchesFilter(sql`searchable_metadata`, filter)}`
  // The index on metadata does not have the threads of stateless runs; those in flight are found by their runs.
  const found = await tx.rows<{ thread_id: string }>(sql`
    (select thread_id from threads where not is_ephemeral and ${isWanted} limit ${most})
    union all
    (select thread_id from threads
      where is_ephemeral and ${isWanted} and thread_id = any (array(
        select r.thread_id from runs r where r.status in ('pending', 'running') and r.assistant_id = ${assistantId})))
    limit ${most}`)
  const locked = await tx.rows<{ thread_id: string }>(sql`
    select thread_id from threads where thread_id = any (${found.map(({ thread_id }) => thread_id)}::uuid[]) and ${isWanted}
    order by thread_id for update`)
  return { threadIds: locked.map(({ thread_id }) => thread_id), isAll: found.length < most }
}

/** A thread that was deleted. */
export interface DeletedThread {
  readonly threadId: string
  /** Its pending and running runs: their streams must be ended. */
  readonly inFlight: readonly string[]
  /** Its running run: that run's server must be notified. Later writes of the worker are rejected, since the claim is gone (T3). */
  readonly stopping: StoppingRun | null
}

/** Deletes threads that the caller has locked, with their runs and checkpoints. */
export const deleteThreads = (tx: Db, threadIds: readonly string[]): Promise<DeletedThread[]> =>
  tx.rows(sql`
    select wanted.thread_id as "threadId", gone.in_flight as "inFlight", gone.stopping
    from unnest(${threadIds}::uuid[]) as wanted (thread_id) cross join lateral remove_thread(wanted.thread_id) gone`)

/**
 * Deletes one thread.
 * @returns undefined when the caller sees no such thread
 */
export const deleteThread = (db: Db, threadId: string, filter?: MetadataFilter): Promise<DeletedThread | undefined> =>
  db.row(sql`
    select threads.thread_id as "threadId", gone.in_flight as "inFlight", gone.stopping
    from threads cross join lateral remove_thread(threads.thread_id) gone
    where threads.thread_id = ${threadId} and ${matchesFilter(sql`threads.searchable_metadata`, filter)}`)
