/** Statements on the log of a thread: which runs it has, in the order in which they began, and who follows it. */
import type { Db } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"

/** Where a run begins in the log of its thread. */
export interface RunStart {
  readonly runId: string
  /** When Postgres logged its first event, as Postgres writes it: a Date would lose the microseconds. */
  readonly startedAt: string
}

/** Before everything that is in a log. */
export const beginning: RunStart = { runId: "00000000-0000-0000-0000-000000000000", startedAt: "-infinity" }

/** Whoever has the id of a deleted thread now is not to read what happened there: the log outlives the thread for a while. */
const ofThisThread = (threadId: string): Sql => sql`thread_id = ${threadId}
  and created_at >= (select t.created_at from threads t where t.thread_id = ${threadId})`

/**
 * The run that began next on a thread. A thread has one running run, whose events are logged before it ends, so the times
 * of first events are in the order of the runs. Of several attempts the first in the log counts.
 */
export const nextRunAfter = (
  db: Db,
  threadId: string,
  { runId, startedAt }: RunStart,
): Promise<(RunStart & { readonly seq: number }) | undefined> =>
  db.row(sql`
    select run_id as "runId", created_at::text as "startedAt", seq from run_events e
    where ${ofThisThread(threadId)} and (created_at, run_id) > (${startedAt}::timestamptz, ${runId}::uuid)
      and not exists (select from run_events o where o.run_id = e.run_id and o.seq < e.seq)
    order by created_at, run_id limit 1`)

/** The run that began last, as far as the log knows. */
export const lastRunStart = (db: Db, threadId: string): Promise<RunStart | undefined> =>
  db.row(sql`
    select run_id as "runId", created_at::text as "startedAt" from run_events
    where ${ofThisThread(threadId)} order by created_at desc, run_id desc limit 1`)

/** Where a run of this thread begins; undefined when the log has nothing of it, or it is another thread's. */
export const runStartOf = (db: Db, threadId: string, runId: string): Promise<RunStart | undefined> =>
  db.row(sql`
    select e.run_id as "runId", e.created_at::text as "startedAt" from run_events e
    where e.run_id = ${runId} and (
      exists (select from run_events where run_id = ${runId} and ${ofThisThread(threadId)})
      or exists (select from runs r where r.run_id = ${runId} and r.thread_id = ${threadId}))
    order by e.seq limit 1`)

/**
 * Notes that these threads are followed for so long from now on, and tells every server.
 * @returns those that there are
 */
export const watchThreads = async (db: Db, threadIds: readonly string[], forMs: number): Promise<string[]> => {
  const rows = await db.rows<{ thread_id: string }>(sql`
    with watched as (
      insert into watched_threads (thread_id, until)
      select thread_id, now() + make_interval(secs => ${forMs} / 1000.0) from threads
      where thread_id = any (${threadIds}::uuid[]) order by thread_id
      on conflict (thread_id) do update set until = excluded.until
      returning thread_id)
    select thread_id, pg_notify('thread_watched', thread_id::text) from watched`)
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
