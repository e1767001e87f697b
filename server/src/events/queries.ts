/** Statements on the event log. */
import type { Db } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import { must } from "@superstep/toolkit/errors/must"
import { isAlive } from "../servers/queries.js"
import { eventsPerAttempt, lastSeq, mostOfNoAttempt } from "./event.js"

export interface NewEvent {
  readonly runId: string
  readonly seq: number
  readonly event: string
  /** One line of JSON. */
  readonly data: string
  /** The run's thread, for an event of a run that may be deleted. */
  readonly threadId?: string | undefined
}

/** An event with its place in the topic for which it was read. */
export interface LoggedEvent extends NewEvent {
  readonly place: number
}

/** Events that were appended to a thread's log together. */
export interface AppendedEvents {
  /** The place of the event before them, of which they are the next ones; -1 for none. */
  readonly after: number
  readonly events: readonly LoggedEvent[]
}

/** A run whose events were appended. */
export interface AppendedTo {
  readonly runId: string
  /** Null when neither the run nor an earlier event of it is left. */
  readonly threadId: string | null
  /** What was appended to the thread's log; undefined when that is unknown, or the run is gone. */
  readonly appended?: AppendedEvents | undefined
}

/**
 * Appends events that no attempt writes: the last ones of a run that is over. Left out are events of an attempt before the run's last one,
 * since readers that are already past that attempt's events would miss them (R4), and all but an end after the end. The lock on the run
 * makes a concurrent claim wait. It is taken before the lock on the thread's log (G8), as everywhere.
 * @param lockMs  how long to wait for each lock, in milliseconds
 * @throws LockTimeout  another transaction has the run, or the log of its thread
 * @returns  the thread to whose log they were appended, null when none is known; and the events that are in the log
 */
export async function appendLateEvents<Event extends NewEvent>(
  db: Db,
  runId: string,
  events: readonly Event[],
  lockMs = 2_000,
): Promise<{ readonly threadId: string | null; readonly taken: readonly Event[] }> {
  const rows = await db.rows<{ threadId: string | null; seq: number }>(sql`
    with bounded as materialized (select set_config('lock_timeout', ${String(lockMs)}, true)),
    given as (
      select * from unnest(${events.map((e) => e.seq)}::bigint[], ${events.map((e) => e.event)}::text[],
        ${events.map((e) => e.data)}::text[]) with ordinality as given (seq, event, data, n)),
    locked as materialized (select attempt, thread_id from bounded, runs where run_id = ${runId} for share of runs),
    -- Its run was rolled back or was a stateless one: then its end is still to be announced.
    former as materialized (select thread_id from run_events where run_id = ${runId} order by seq limit 1),
    thread as materialized (
      select coalesce((select thread_id from locked), ${events[0]?.threadId ?? null}::uuid, (select thread_id from former)) as thread_id),
    kept as materialized (
      select * from given
      where seq >= coalesce((select (attempt - 1) * ${eventsPerAttempt}::bigint from locked), 0)
        and not exists (select from run_events where run_id = ${runId} and seq = ${lastSeq})
        -- Its clients of the older protocol have the end, and clients of the newer one ask for theirs.
        and not (event in ('error', 'end') and coalesce((select last.event = 'end' from ${lastOf(sql`${runId}::uuid`)} last), false))),
    turn as materialized (select lock_thread_logs(array[thread_id]) from bounded, thread where exists (select from kept)),
    added as (
      insert into run_events (run_id, seq, event, data, thread_id)
      select ${runId}::uuid, k.seq, k.event, k.data, t.thread_id from kept k, thread t, turn order by k.n
      on conflict do nothing)
    select t.thread_id as "threadId", k.seq from kept k, thread t
    union
    -- Appended by an earlier try whose reply was lost.
    select t.thread_id, g.seq from given g join run_events e on e.run_id = ${runId} and e.seq = g.seq, thread t`)
  const taken = new Set(rows.map(({ seq }) => seq))
  return { threadId: rows[0]?.threadId ?? null, taken: events.filter(({ seq }) => taken.has(seq)) }
}

/** @returns  undefined when not all of the events were appended now, or it is unknown what was before them */
export function appendedEvents(
  runId: string,
  given: readonly Pick<NewEvent, "seq" | "event" | "data">[],
  { after, places }: { readonly after: number | null; readonly places: ReadonlyMap<number, number> },
): AppendedEvents | undefined {
  if (after === null || given.length !== places.size) return undefined
  const events = given.flatMap(({ seq, event, data }) => {
    const place = places.get(seq)
    return place === undefined ? [] : [{ runId, seq, event, data, place }]
  })
  const isInOrder = events.every(({ place }, index) => place > (events[index - 1]?.place ?? after))
  must(isInOrder, "G8", "events become visible in the order of their positions", { run_id: runId, after })
  return { after, events }
}

/** A page of a topic's log. */
export interface Page {
  readonly events: readonly LoggedEvent[]
  /** No event followed this page when it was read. */
  readonly isLast: boolean
}

// Large enough to be fast, small enough to hold little memory.
const maxPageEvents = 1000
/** An event may be as large as a graph's state, so a page is bounded in bytes too, and contains at least one event. */
export const maxPageBytes = 1024 * 1024

/** How to select a topic's events: the condition, and the column that orders them. */
interface TopicEvents {
  readonly place: Sql
  readonly where: Sql
}

const ofRun = (runId: string): TopicEvents => ({ place: sql`seq`, where: sql`run_id = ${runId}` })

/** The log outlives its thread for a while; a new thread with the id of a deleted one must not show the old events. */
const ofThread = (threadId: string): TopicEvents => ({
  place: sql`position`,
  where: sql`thread_id = ${threadId}
    and created_at >= (select t.created_at from threads t where t.thread_id = ${threadId})`,
})

/**
 * A page of a topic's log, oldest first. One scan without a join: with a join, Postgres' generic plan took very many steps.
 * Long values (TOAST) of events that are not on the page are not read.
 */
async function readPage(db: Db, { place, where }: TopicEvents, after: number): Promise<Page> {
  const events = await db.rows<LoggedEvent>(sql`
    select run_id as "runId", seq, place, event, data from (
      select run_id, seq, ${place} as place, event, data,
        sum(octet_length(data)) over (order by ${place}) - octet_length(data) as bytes_before
      from run_events where ${where} and ${place} > ${after} order by ${place} limit ${maxPageEvents}) page
    where bytes_before < ${maxPageBytes} order by place`)
  const bytes = events.reduce((sum, { data }) => sum + Buffer.byteLength(data), 0)
  return { events, isLast: events.length < maxPageEvents && bytes < maxPageBytes }
}

async function readLastPlace(db: Db, { place, where }: TopicEvents): Promise<number> {
  const row = await db.row<{ place: number }>(sql`
    select ${place} as place from run_events where ${where} order by ${place} desc limit 1`)
  return row?.place ?? -1
}

export const pageOfRun = (db: Db, runId: string, after: number): Promise<Page> => readPage(db, ofRun(runId), after)
export const pageOfThread = (db: Db, threadId: string, after: number): Promise<Page> =>
  readPage(db, ofThread(threadId), after)

/** The last `seq` in a run's log; -1 when it has none. */
export const lastSeqOfRun = (db: Db, runId: string): Promise<number> => readLastPlace(db, ofRun(runId))

/** The last position in a thread's log; -1 when it has none. */
export const lastPlaceOfThread = (db: Db, threadId: string): Promise<number> => readLastPlace(db, ofThread(threadId))

/**
 * The place after which a client that has this event of a thread continues: that of the run's last logged event up to this
 * one, or else the place before the run's first remaining event; undefined when none remains.
 */
export const placeInThread = async (
  db: Db,
  threadId: string,
  { runId, seq }: Pick<NewEvent, "runId" | "seq">,
): Promise<number | undefined> => {
  const { where } = ofThread(threadId)
  const row = await db.row<{ place: number | null }>(sql`
    select coalesce(
      (select position from run_events where run_id = ${runId} and seq <= ${seq} and ${where} order by seq desc limit 1),
      (select position - 1 from run_events where run_id = ${runId} and ${where} order by seq limit 1)) as place`)
  return row?.place ?? undefined
}

/** Whether this event is the end event of the run's log. */
export const isEndAt = async (db: Db, runId: string, seq: number): Promise<boolean> =>
  (await db.row(sql`select from run_events where run_id = ${runId} and seq = ${seq} and event = 'end'`)) !== undefined

/**
 * The end in a run's log, also if events of no attempt follow it, for clients of the newer protocol; else its last event. Without a row when it
 * has no log. Part of other statements.
 */
export const lastOf = (runId: Sql): Sql => sql`(
  select e.seq, e.event from (
    (select seq, event from run_events where run_id = ${runId} order by seq desc limit 1)
    union all
    (select seq, event from run_events where run_id = ${runId} and seq <= ${lastSeq - mostOfNoAttempt} order by seq desc limit 1)) e
  order by e.event = 'end' desc, e.seq desc limit 1)`

/** As `lastOf`; undefined when the run has no log. */
export const lastLoggedEvent = (db: Db, runId: string): Promise<Pick<NewEvent, "seq" | "event"> | undefined> =>
  db.row(sql`select * from ${lastOf(sql`${runId}`)} last`)

export interface TailedTopic {
  readonly id: string
  readonly place: number
}

export interface FoundBySweep {
  /** The ids of those runs and threads whose log has events after the place that was read. */
  readonly behind: readonly string[]
  /** Threads that were deleted. */
  readonly gone: readonly string[]
}

/** What is new in logs that are tailed. */
export const findBehind = async (
  db: Db,
  runs: readonly TailedTopic[],
  threads: readonly TailedTopic[],
): Promise<FoundBySweep> => {
  const rows = await db.rows<{ id: string; is_gone: boolean }>(sql`
    select f.id, false as is_gone from unnest(${runs.map(({ id }) => id)}::uuid[], ${runs.map(({ place }) => place)}::bigint[]) as f (id, place)
      where exists (select from run_events e where e.run_id = f.id and e.seq > f.place)
    union all
    select f.id, t.thread_id is null
      from unnest(${threads.map(({ id }) => id)}::uuid[], ${threads.map(({ place }) => place)}::bigint[]) as f (id, place)
      left join threads t on t.thread_id = f.id
      where t.thread_id is null or exists (select from run_events e where e.thread_id = f.id and e.position > f.place)`)
  const idsOf = (isGone: boolean) => rows.filter(({ is_gone }) => is_gone === isGone).map(({ id }) => id)
  return { behind: idsOf(false), gone: idsOf(true) }
}

export interface OldEvents {
  /** The logs of runs that ended longer ago are deleted. */
  readonly ttlSeconds: number
  /** Runs and threads whose logs are being read here, also those that this server has not recorded yet (`noteLogsRead`). */
  readonly keep?: readonly string[]
  /** How many events to delete at most. */
  readonly limit: number
}

/**
 * Deletes events of runs that ended some time ago, and records of threads that nobody follows any more. One server at a time
 * does this.
 * @returns how many events were deleted; 0 also when another server is deleting
 */
export const deleteOldEvents = (db: Db, { ttlSeconds, keep = [], limit }: OldEvents): Promise<number> =>
  db.run(sql`
    with turn as materialized (select pg_try_advisory_xact_lock(hashtext('superstep: sweep run_events')) as is_ours),
    left_alone as (delete from watched_threads where until < now()),
    read as materialized (
      select unnest(${keep}::uuid[]) as id union all select unnest(reads_logs) from servers where ${isAlive()})
    delete from run_events where (select is_ours from turn) and ctid = any (array(
      select e.ctid from run_events e
      where e.created_at < now() - make_interval(secs => ${ttlSeconds}) and e.run_id <> all (array(select id from read))
        and (e.thread_id is null or e.thread_id <> all (array(select id from read)))
        -- A value, so that each run is found by its key: as a condition Postgres would join all runs.
        and coalesce((select r.status not in ('pending', 'running') and r.updated_at <= now() - make_interval(secs => ${ttlSeconds})
          from runs r where r.run_id = e.run_id), true)
      order by e.created_at limit ${limit}))`)
