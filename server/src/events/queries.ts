/** Statements on the event log. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

export interface LoggedEvent {
  readonly seq: number
  readonly event: string
  readonly data: string
}

export interface NewLoggedEvent extends LoggedEvent {
  readonly runId: string
}

/** Appends a batch and wakes the servers that follow one of its runs: one statement for all. */
export const appendEvents = (db: Db, events: readonly NewLoggedEvent[]): Promise<number> =>
  db.run(sql`
    with added as (
      insert into run_events (run_id, seq, event, data)
      select * from unnest(${events.map((e) => e.runId)}::uuid[], ${events.map((e) => e.seq)}::bigint[],
        ${events.map((e) => e.event)}::text[], ${events.map((e) => e.data)}::text[])
      on conflict do nothing
      returning run_id)
    select pg_notify('run_events', run_id::text) from added group by run_id`)

/** A page of a run's log, oldest first. */
export const eventsAfter = (db: Db, runId: string, after: number, limit: number): Promise<LoggedEvent[]> =>
  db.rows<LoggedEvent>(sql`
    select seq, event, data from run_events where run_id = ${runId} and seq > ${after} order by seq limit ${limit}`)

/** The last id in a run's log; -1 when it has none. */
export const lastLoggedSeq = async (db: Db, runId: string): Promise<number> => {
  const row = await db.row<{ seq: number | null }>(sql`select max(seq) as seq from run_events where run_id = ${runId}`)
  return row?.seq ?? -1
}

/** Forgets the logs of runs that ended longer ago than `ttlSeconds`. */
export const deleteOldEvents = (db: Db, ttlSeconds: number): Promise<number> =>
  db.run(sql`
    delete from run_events e
    where e.created_at < now() - make_interval(secs => ${ttlSeconds})
      and not exists (select from runs r where r.run_id = e.run_id
        and (r.status in ('pending', 'running') or r.updated_at > now() - make_interval(secs => ${ttlSeconds})))`)
