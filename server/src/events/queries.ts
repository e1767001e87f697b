/** Statements on the event log. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { eventsPerAttempt, lastSeq } from "./event.js"

export interface LoggedEvent {
  readonly seq: number
  readonly event: string
  readonly data: string
}

export interface NewLoggedEvent extends LoggedEvent {
  readonly runId: string
}

/**
 * Appends a batch and wakes the servers that follow one of its runs, or a thread on which one begins: one statement for all. Events of an attempt that is
 * over are left out (R4): a server that slept longer than its lease still has some, and behind those of the next attempt
 * they would be a hole to everybody who has read on. The locks on the runs make a claim that comes meanwhile wait; they
 * are taken in the order of ids, as everywhere.
 * @returns the events that were left out
 */
export async function appendEvents(
  db: Db,
  events: readonly NewLoggedEvent[],
): Promise<Pick<NewLoggedEvent, "runId" | "seq">[]> {
  const rows = await db.rows<{ runId: string; seq: number | null }>(sql`
    with given as (
      select * from unnest(${events.map((e) => e.runId)}::uuid[], ${events.map((e) => e.seq)}::bigint[],
        ${events.map((e) => e.event)}::text[], ${events.map((e) => e.data)}::text[]) as given (run_id, seq, event, data)),
    locked as materialized (
      select run_id, attempt, thread_id from runs where run_id in (select run_id from given) order by run_id for share),
    over as materialized (
      select run_id from run_events where run_id in (select run_id from given) and seq = ${lastSeq}),
    judged as materialized (
      -- The run itself is gone once it was rolled back or was a stateless one: then its end is still to be told.
      select g.*, l.thread_id, (l.run_id is null or g.seq >= (l.attempt - 1) * ${eventsPerAttempt}::bigint)
        and (o.run_id is null or g.seq = ${lastSeq}) as is_kept
      from given g left join locked l on l.run_id = g.run_id left join over o on o.run_id = g.run_id),
    added as (
      insert into run_events (run_id, seq, event, data, thread_id)
      select run_id, seq, event, data, case when event = 'metadata' then thread_id end from judged where is_kept
      on conflict do nothing
      returning run_id, thread_id)
    select run_id as "runId", null::bigint as seq, pg_notify('run_events', run_id::text) from added group by run_id
    union all select thread_id, null, pg_notify('thread_runs', thread_id::text) from added where thread_id is not null
    union all select run_id, seq, null from judged where not is_kept`)
  return rows.flatMap(({ runId, seq }) => (seq === null ? [] : [{ runId, seq }]))
}

// Events may be as large as a graph's state: a page is bounded in bytes too, and holds at least one event.
const mostPageBytes = 1024 * 1024

/**
 * A page of a run's log, oldest first. One scan and no join, which a plan for any run once made of very many steps; what
 * is not on the page is not read from where long values are kept.
 */
export const eventsAfter = (db: Db, runId: string, after: number, limit: number): Promise<LoggedEvent[]> =>
  db.rows<LoggedEvent>(sql`
    select seq, event, data from (
      select seq, event, data, sum(octet_length(data)) over (order by seq) - octet_length(data) as bytes_before
      from run_events where run_id = ${runId} and seq > ${after} order by seq limit ${limit}) page
    where bytes_before < ${mostPageBytes} order by seq`)

/** Whether this event of a run's log is its last one. */
export const isEndAt = async (db: Db, runId: string, seq: number): Promise<boolean> =>
  (await db.row(sql`select from run_events where run_id = ${runId} and seq = ${seq} and event = 'end'`)) !== undefined

/** Whether there may be more after a page. */
export const isFull = (page: readonly LoggedEvent[], limit: number): boolean =>
  page.length === limit || page.reduce((bytes, { data }) => bytes + Buffer.byteLength(data), 0) >= mostPageBytes

/** The last event in a run's log; undefined when it has none. */
export const lastLogged = (db: Db, runId: string): Promise<Pick<LoggedEvent, "seq" | "event"> | undefined> =>
  db.row(sql`select seq, event from run_events where run_id = ${runId} order by seq desc limit 1`)

/** The last id in a run's log; -1 when it has none. */
export const lastLoggedSeq = async (db: Db, runId: string): Promise<number> => (await lastLogged(db, runId))?.seq ?? -1

export interface OldEvents {
  /** The logs of runs that ended longer ago are forgotten. */
  readonly ttlSeconds: number
  /** Runs whose logs are being read. */
  readonly keep?: readonly string[]
  /** How many events at most. */
  readonly limit: number
}

/**
 * Forgets events of runs that ended some time ago, and threads that nobody follows any more. One server at a time does.
 * @returns how many events; 0 also when another server is at it
 */
export const deleteOldEvents = (db: Db, { ttlSeconds, keep = [], limit }: OldEvents): Promise<number> =>
  db.run(sql`
    with turn as materialized (select pg_try_advisory_xact_lock(hashtext('superstep: sweep run_events')) as is_ours),
    left_alone as (delete from watched_threads where until < now())
    delete from run_events where (select is_ours from turn) and ctid = any (array(
      select e.ctid from run_events e
      where e.created_at < now() - make_interval(secs => ${ttlSeconds}) and e.run_id <> all (${keep}::uuid[])
        and not exists (select from runs r where r.run_id = e.run_id
          and (r.status in ('pending', 'running') or r.updated_at > now() - make_interval(secs => ${ttlSeconds})))
      order by e.created_at limit ${limit}))`)
