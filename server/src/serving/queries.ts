/** SQL of serving: which revisions' servers claim runs. The rules (SV1 …) are in this folder's README. */
import type { Pins, Share } from "@superstep/protocol/unit/replies"
import type { Db } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import { isAlive } from "../servers/queries.js"

/** Which threads stay on their revision when another one becomes active (SV3). */
export const threadPinnings = ["none", "paused", "always"] as const
export type ThreadPinning = (typeof threadPinnings)[number]

/** Makes activations wait for each other. Claims do not wait. */
export const lockServing = (tx: Db): Promise<number> =>
  tx.run(sql`lock table serving_revisions in share row exclusive mode`)

/** The revisions that serve, the active one first. Only their servers claim runs of threads that are not pinned. */
export const findTraffic = (db: Db): Promise<Share[]> =>
  db.rows(sql`select revision_id, weight from serving_revisions order by weight nulls first, revision_id`)

/** Makes these the only revisions that serve. */
export async function setTraffic(tx: Db, traffic: readonly Share[], threadPinning: ThreadPinning): Promise<void> {
  await tx.run(
    sql`delete from serving_revisions where revision_id <> all(${traffic.map(({ revision_id }) => revision_id)})`,
  )
  // A promoted canary's row is changed before the active one's, and two rows must never be active at once.
  await tx.run(sql`update serving_revisions set weight = 1 where weight is null`)
  for (const { revision_id, weight } of traffic) {
    await tx.run(sql`
      insert into serving_revisions (revision_id, weight, thread_pinning) values (${revision_id}, ${weight}, ${threadPinning})
      on conflict (revision_id) do update set weight = excluded.weight, thread_pinning = excluded.thread_pinning`)
  }
}

/** Threads that are busy or interrupted and not pinned. */
export async function findPausedThreads(db: Db): Promise<string[]> {
  const rows = await db.rows<{ thread_id: string }>(sql`
    select thread_id from threads
    where status in ('busy', 'interrupted') and not is_ephemeral and revision_id is null`)
  return rows.map(({ thread_id }) => thread_id)
}

/**
 * Pins the threads that are still paused to the revision that serves each.
 * @param next  threads that this revision serves are not pinned; null: all are pinned
 */
export const pinPausedThreads = (db: Db, next: string | null, threadIds: readonly string[]): Promise<number> =>
  db.run(sql`select pin_paused_threads(${next}, ${threadIds}::uuid[])`)

/** Interrupted threads that are not pinned, newest first. */
export async function findInterruptedThreads(db: Db, most: number): Promise<string[]> {
  const rows = await db.rows<{ thread_id: string }>(sql`
    select thread_id from threads where status = 'interrupted' and not is_ephemeral and revision_id is null
    order by thread_id desc limit ${most}`)
  return rows.map(({ thread_id }) => thread_id)
}

/** Whether a thread is interrupted, not pinned, and has no run in flight. */
export const isStillPaused = async (db: Db, threadId: string): Promise<boolean> => {
  const row = await db.row(sql`
    select from threads where thread_id = ${threadId} and status = 'interrupted' and revision_id is null and not is_in_flight(thread_id)`)
  return row !== undefined
}

/**
 * How long the run waits that could start first, in milliseconds; null when none does. Runs that wait for another one of their thread, for their
 * time, or for a revision, wait for no room.
 */
export async function findLongestWaiting(db: Db): Promise<number | null> {
  const row = await db.row<{ waiting_ms: number }>(sql`
    select extract(epoch from now() - greatest(r.created_at, r.not_before))::float8 * 1000 as waiting_ms from runs r
    where r.status = 'pending' and r.revision_id is null and r.not_before <= now() and not exists (
      select from runs o where o.thread_id = r.thread_id
        and (o.status = 'running' or (o.status = 'pending' and is_due_before(o, r))))
    order by r.not_before, r.seq limit 1`)
  return row?.waiting_ms ?? null
}

// Counting stops here: the control plane only checks for zero, and people need only a rough number.
const maxCounted = 10_000

export async function findPins(db: Db, revisionId: string): Promise<Required<Pins>> {
  const row = await db.row<Required<Pins>>(sql`
    select (select count(*) from (select from threads where revision_id = ${revisionId} limit ${maxCounted}) pinned) as threads,
      exists (select from runs where status = 'pending' and revision_id = ${revisionId} and not_before <= now())
        or exists (select from runs where status = 'running' and revision_id = ${revisionId}) as has_runs,
      (select coalesce(jsonb_agg(jsonb_build_object('revision_id', revision_id, 'weight', weight)
        order by weight nulls first, revision_id), '[]') from serving_revisions) as traffic`)
  if (!row) throw new Error("a query without a table returned no row")
  return row
}

/** Revisions to which threads are pinned, other than these. */
export async function findPinnedRevisions(db: Db, except: readonly string[]): Promise<string[]> {
  const rows = await db.rows<{ revision_id: string }>(sql`
    select distinct revision_id from threads where revision_id is not null and revision_id <> all(${except})`)
  return rows.map(({ revision_id }) => revision_id)
}

/**
 * Deletes pins to a revision. Its threads continue on the revision that serves them.
 * @param most  the largest number of threads; null for all
 * @returns     the number of threads
 */
export async function unpinThreads(db: Db, revisionId: string, most: number | null): Promise<number> {
  const row = await db.row<{ unpinned: number }>(sql`select unpin_threads(${revisionId}, ${most}) as unpinned`)
  return row?.unpinned ?? 0
}

/** Makes all servers poll for runs, crons and webhooks. Call it after the commit. */
export const notifyServingChanged = (db: Db): Promise<number> => db.run(sql`select pg_notify('serving_changed', '')`)

/**
 * Whether the deployment is idle, and when the next work is due: the first cron, delayed run or delivery of a webhook. Idle
 * means that nothing runs and nothing waits for a server that exists. A run that is pinned to a revision without servers
 * does not count: it waits whether this deployment sleeps or not.
 * @param revisionId  the revision of this server; null: it executes every run
 * @returns `next_due_ms` in milliseconds from now
 */
export const idleness = async (
  db: Db,
  revisionId: string | null,
): Promise<{ is_idle: boolean; next_due_ms: number | null }> => {
  // Ordered, so that Postgres takes the small indexes (runs/claims.ts, readQueueState).
  const isWaiting = (pin: Sql) => sql`
    (select seq from runs where status = 'pending' and not_before <= now() and ${pin} order by not_before, seq limit 1) is not null`
  const here = revisionId === null ? sql`revision_id is not null` : sql`revision_id = ${revisionId}`
  const row = await db.row<{ is_idle: boolean; next_due_ms: number | null }>(sql`
    select (select seq from runs where status = 'running' order by lease_until limit 1) is null
        and not ${isWaiting(sql`revision_id is null`)} and not ${isWaiting(here)}
        and not exists (
          select from servers where revision_id is not null and ${isAlive()}
            and ${isWaiting(sql`runs.revision_id = servers.revision_id`)}) as is_idle,
      extract(epoch from least(
        (select min(next_run_date) from crons),
        (select min(not_before) from runs where status = 'pending' and not_before > now()),
        (select min(next_try_at) from webhook_deliveries)) - now())::float8 * 1000 as next_due_ms`)
  if (!row) throw new Error("a query without a table returned no row")
  return row
}
