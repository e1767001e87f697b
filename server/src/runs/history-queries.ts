/** Statements on the past of one run: its attempts, and its events with their times. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { maxPageBytes } from "../events/queries.js"

export interface AttemptsRow {
  readonly status: string
  readonly attempt: number
  readonly created_at: Date
  readonly updated_at: Date
  readonly not_before: Date
  readonly claimed_at: Date | null
  /** JSON text: a list of `{attempt, claimed_at, ended_at, ending}`. */
  readonly past_attempts: string
  /** The database's clock. */
  readonly now: Date
}

export const findAttempts = (db: Db, runId: string): Promise<AttemptsRow | undefined> =>
  db.row<AttemptsRow>(sql`
    select status, attempt, created_at, updated_at, not_before, claimed_at, coalesce(past_attempts, '[]')::text as past_attempts,
      now() as now
    from runs where run_id = ${runId}`)

export interface TimedEvent {
  readonly seq: number
  readonly event: string
  /** One line of JSON. */
  readonly data: string
  readonly created_at: Date
}

/**
 * A page of a run's logged events after `after`, without those of the newer streaming protocol and the server's own. It is bounded in
 * bytes too, as in `readPage`, and contains at least one event.
 */
export async function findTimedEvents(
  db: Db,
  runId: string,
  { after, limit }: { after: number; limit: number },
): Promise<{ events: TimedEvent[]; isLast: boolean }> {
  const events = await db.rows<TimedEvent & { isLast: boolean }>(sql`
    select seq, event, data, created_at, is_last as "isLast" from (
      select seq, event, data, created_at, lead(seq) over (order by seq) is null as is_last,
        sum(octet_length(data)) over (order by seq) - octet_length(data) as bytes_before
      from run_events
      where run_id = ${runId} and seq > ${after} and event not like 'protocol:%' and event not in ('result', 'state_update')
      order by seq limit ${limit}) page
    where bytes_before < ${maxPageBytes} order by seq`)
  return { events, isLast: events.at(-1)?.isLast ?? true }
}
