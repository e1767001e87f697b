/** Statements on which threads are followed. */
import type { Db } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"

export interface Follow {
  readonly forMs: number
  /** Whether by clients of the newer streaming protocol. */
  readonly forProtocol: boolean
}

export interface FollowedThread {
  readonly threadId: string
  /** In seconds since 1970: tells it from another thread that had the same id. */
  readonly createdAt: number
}

/**
 * Records that these threads are followed from now on. Threads are locked before the rows of `watched_threads`, as at the creation of a
 * run: the check of the foreign key would lock them afterwards, and both would wait for each other.
 * @returns those that exist
 */
export const followThreads = async (
  db: Db,
  threadIds: readonly string[],
  { forMs, forProtocol }: Follow,
): Promise<FollowedThread[]> =>
  db.rows(sql`
    insert into watched_threads (thread_id, until, protocol_until)
    select thread_id, now() + make_interval(secs => ${forMs} / 1000.0),
      case when ${forProtocol}::boolean then now() + make_interval(secs => ${forMs} / 1000.0) end
    from threads where thread_id = any (${threadIds}::uuid[]) order by thread_id for key share
    on conflict (thread_id) do update
      set until = excluded.until, protocol_until = coalesce(excluded.protocol_until, watched_threads.protocol_until)
    returning thread_id as "threadId",
      (select extract(epoch from t.created_at)::float8 from threads t where t.thread_id = watched_threads.thread_id) as "createdAt"`)

/** For how much longer a thread is followed, in milliseconds; null when nobody follows it. Part of other statements. */
export const followedMs = (threadId: Sql): Sql => sql`(
  select extract(epoch from w.until - now())::float8 * 1000 from watched_threads w
  where w.thread_id = ${threadId} and w.until > now())`

/** Like `followedMs`, by clients of the newer streaming protocol. */
export const protocolMs = (threadId: Sql): Sql => sql`(
  select extract(epoch from w.protocol_until - now())::float8 * 1000 from watched_threads w
  where w.thread_id = ${threadId} and w.protocol_until > now())`

/** Threads that are followed now, and for how much longer. */
export const followedThreads = (
  db: Db,
): Promise<{ thread_id: string; left_ms: number; protocol_ms: number | null }[]> =>
  db.rows(sql`
    select thread_id, extract(epoch from until - now())::float8 * 1000 as left_ms,
      extract(epoch from protocol_until - now())::float8 * 1000 as protocol_ms
    from watched_threads where until > now()`)
