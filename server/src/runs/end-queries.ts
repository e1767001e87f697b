/** Statements that find runs that are over and whose end is missing in the event log. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { lastOf } from "../events/queries.js"

export interface UnloggedEnd {
  readonly runId: string
  /** `rollback` when the run is gone. */
  readonly status: string
  /** JSON text. */
  readonly error: string | null
  readonly inputSaved: boolean | null
  /** Null when the run is gone. */
  readonly threadId: string | null
}

/** Those of these runs that are over, or gone, and have no end in the event log. */
export const findUnloggedEnds = (db: Db, runIds: readonly string[]): Promise<UnloggedEnd[]> =>
  db.rows(sql`
    select asked.run_id as "runId", coalesce(r.status, 'rollback') as status, r.error, r.input_saved as "inputSaved", r.thread_id as "threadId"
    from unnest(${runIds}::uuid[]) as asked (run_id) left join runs r on r.run_id = asked.run_id
    where (r.run_id is null or r.status not in ('pending', 'running'))
      and (select last.event from ${lastOf(sql`asked.run_id`)} last) is distinct from 'end'`)

export interface UnloggedEndOfThread extends UnloggedEnd {
  readonly threadId: string
  /** JSON texts: what the thread has after its newest run; null for an earlier run. */
  readonly left: { readonly values: string | null; readonly interrupts: string } | null
}

/**
 * Runs of these threads that ended a short time ago, and whose end is missing in the thread's log. Their log has no end. Or they have no
 * log, since nobody followed the thread until they ended: a client may have read before that they are not over. Of these only the newest one
 * counts, if it was executed: clients take the end of an earlier run for that of the present one.
 * @param threadIds  followed by clients of the older protocol
 * @param protocol   followed by clients of the newer one, for whom an end is a lifecycle event
 */
export async function findUnloggedEndsOfThreads(
  db: Db,
  { threadIds = [], protocol = [] }: { readonly threadIds?: readonly string[]; readonly protocol?: readonly string[] },
): Promise<UnloggedEndOfThread[]> {
  const rows = await db.rows<
    Omit<UnloggedEndOfThread, "left"> & { values: string | null; interrupts: string | null }
  >(sql`
    select r.run_id as "runId", r.status, r.error, r.input_saved as "inputSaved", r.thread_id as "threadId",
      case when newest.it then t.values end as values, case when newest.it then t.interrupts end as interrupts
    from runs r join threads t on t.thread_id = r.thread_id
      cross join lateral (select not exists (
        select from runs n where n.thread_id = r.thread_id and n.seq > r.seq) as it) newest
      left join lateral ${lastOf(sql`r.run_id`)} last on true
    where r.thread_id = any (${[...threadIds, ...protocol]}::uuid[]) and r.status not in ('pending', 'running')
      and r.updated_at > now() - make_interval(secs => ${announcedForSeconds})
      and (last.event <> 'end'
        or (last.event is null and (r.attempt = 0 or newest.it))
        or (newest.it and r.thread_id = any (${protocol}::uuid[]) and not exists (
          select from run_events e where e.run_id = r.run_id and e.event = 'protocol:lifecycle'
            and not starts_with(e.data, ${'{"event_id":"synth:'} || r.run_id || ':running'))))`)
  return rows.map(({ values, interrupts, ...end }) => ({
    ...end,
    left: interrupts === null ? null : { values, interrupts },
  }))
}

// Much longer than a page needs from reading a thread's state to following it.
const announcedForSeconds = 120
