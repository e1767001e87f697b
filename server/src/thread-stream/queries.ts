/** Statements on a thread's log, for the newer streaming protocol. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { toJsonText } from "@superstep/toolkit/http/json"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { matchesFilter } from "../auth/queries.js"

/**
 * What a thread is to a caller: `visible`, `hidden` by an access rule, or `deleted` when only events of it are left; undefined when nothing
 * is. It is one statement: a thread that is created while its client begins to follow it would otherwise be taken for a hidden one.
 */
export const standingOf = async (
  db: Db,
  threadId: string,
  filter: MetadataFilter | undefined,
): Promise<"visible" | "hidden" | "deleted" | undefined> => {
  const row = await db.row<{ standing: "visible" | "hidden" | "deleted" | null }>(sql`
    select case
      when t.thread_id is null then (select 'deleted' from run_events e where e.thread_id = asked.thread_id limit 1)
      when ${matchesFilter(sql`t.searchable_metadata`, filter)} then 'visible' else 'hidden' end as standing
    from (select ${threadId}::uuid as thread_id) asked left join threads t using (thread_id)`)
  return row?.standing ?? undefined
}

/** How often each event occurs in a thread's log after a place, by name. */
export const countEvents = (db: Db, threadId: string, after: number): Promise<{ event: string; count: number }[]> =>
  db.rows(sql`
    select event, count(*)::integer as count from run_events
    where thread_id = ${threadId} and position > ${after}
      and created_at >= (select t.created_at from threads t where t.thread_id = ${threadId})
    group by event`)

/**
 * The place of a run's root lifecycle event with this id (`synth:…`); undefined when the log does not have it. The id, with which such an
 * event begins, is compared as text: a run's error may contain U+0000, and then Postgres cannot decode the event's JSON.
 */
export const findRootLifecycle = async (
  db: Db,
  threadId: string,
  { runId, eventId }: { readonly runId: string; readonly eventId: string },
): Promise<number | undefined> => {
  const row = await db.row<{ position: number }>(sql`
    select position from run_events
    where run_id = ${runId} and thread_id = ${threadId} and event = 'protocol:lifecycle'
      and starts_with(data, ${`{"event_id":${toJsonText(eventId)},`})`)
  return row?.position
}

/**
 * The run that has asked one of these questions and is not over; undefined when there is none. Its id is found as text: a question may
 * contain U+0000, and then Postgres cannot decode its JSON.
 */
export const findAskingRun = async (
  db: Db,
  threadId: string,
  interruptIds: readonly string[],
): Promise<string | undefined> => {
  const asked = interruptIds.map((id) => `"interrupt_id":${toJsonText(id)}`)
  const row = await db.row<{ run_id: string }>(sql`
    select e.run_id from runs r join run_events e on e.run_id = r.run_id
    where r.thread_id = ${threadId} and r.status in ('pending', 'running')
      and (e.event = 'protocol:input.requested' or e.event like 'protocol:input.requested|%')
      and exists (select from unnest(${asked}::text[]) as question (id) where strpos(e.data, question.id) > 0)
    limit 1`)
  return row?.run_id
}

/** The data of a run's lifecycle events in the order of the log, as JSON texts. @param runId  null: the run that started last */
export const findLifecycle = (db: Db, threadId: string, runId: string | null): Promise<{ data: string }[]> =>
  db.rows(sql`
    with latest as materialized (
      select coalesce(${runId}::uuid, (
        select run_id from run_events
        where thread_id = ${threadId} and event = 'protocol:lifecycle' order by position desc limit 1)) as run_id)
    select e.data from run_events e, latest
    where e.run_id = latest.run_id and e.thread_id = ${threadId}
      and (e.event = 'protocol:lifecycle' or e.event like 'protocol:lifecycle|%')
    order by e.position`)
