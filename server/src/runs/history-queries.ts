/** Statements on the past of one run: its attempts, and its events with their times. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

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

/** Logged events of a run after `after`, without those of the newer streaming protocol and the server's own. */
export const findTimedEvents = (
  db: Db,
  runId: string,
  { after, limit }: { after: number; limit: number },
): Promise<TimedEvent[]> =>
  db.rows<TimedEvent>(sql`
    select seq, event, data, created_at from run_events
    where run_id = ${runId} and seq > ${after} and event not like 'protocol:%' and event not in ('result', 'state_update')
    order by seq limit ${limit}`)
