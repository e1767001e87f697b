/** Statements on which threads are followed. */
import type { Db } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"

/**
 * Records that these threads are followed for `forMs` from now on.
 * @returns the ids of those that exist
 */
export const watchThreads = async (db: Db, threadIds: readonly string[], forMs: number): Promise<string[]> => {
  const rows = await db.rows<{ thread_id: string }>(sql`
    insert into watched_threads (thread_id, until)
    select thread_id, now() + make_interval(secs => ${forMs} / 1000.0) from threads
    where thread_id = any (${threadIds}::uuid[]) order by thread_id
    on conflict (thread_id) do update set until = excluded.until
    returning thread_id`)
  return rows.map(({ thread_id }) => thread_id)
}

/** For how much longer a thread is followed, in milliseconds; null when nobody follows it. Part of other statements. */
export const followedMs = (threadId: Sql): Sql => sql`(
  select extract(epoch from w.until - now())::float8 * 1000 from watched_threads w
  where w.thread_id = ${threadId} and w.until > now())`

/** Threads that are followed now, and for how much longer. */
export const watchedThreads = (db: Db): Promise<{ thread_id: string; left_ms: number }[]> =>
  db.rows(sql`
    select thread_id, extract(epoch from until - now())::float8 * 1000 as left_ms from watched_threads
    where until > now()`)
