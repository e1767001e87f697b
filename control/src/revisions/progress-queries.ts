/** The pipeline's progress over all workspaces: what waits, what is worked on, what has ended. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { Stage } from "./revision.js"

// As `claimNextRevision` chooses: a revision that is delayed, or waits for an older one of its deployment, does not count.
const couldBeClaimed = sql`
  r.stage is not null and r.lease_owner is null and r.not_before <= now()
  -- That of a listener waits for it, and is no sign of our own health.
  and r.source_config ->> 'listener_id' is null
  and not exists (
    select 1 from revisions older
    where older.deployment_id = r.deployment_id and older.seq < r.seq and older.stage is not null)`

export interface PipelineProgress {
  /** Revisions that could be claimed at once, and are not. */
  readonly waiting: number
  /** How long the oldest of them has been claimable, in milliseconds; 0 when none waits. */
  readonly oldest_waiting_ms: number
  /** Revisions that a process works on. */
  readonly claimed: number
  /** Time since a revision was last claimed, advanced or returned, in milliseconds; null when none waits. */
  readonly quiet_ms: number | null
}

export async function pipelineProgress(db: Db): Promise<PipelineProgress> {
  const row = await db.row<PipelineProgress>(sql`
    select count(*) filter (where ${couldBeClaimed}) as waiting,
      count(*) filter (where r.lease_owner is not null and r.lease_until > now()) as claimed,
      coalesce(extract(epoch from max(now() - r.not_before) filter (where ${couldBeClaimed})), 0)::float8 * 1000
        as oldest_waiting_ms,
      -- Of ended ones too, behind which others may have waited; asked only when one waits.
      case when count(*) filter (where ${couldBeClaimed}) > 0
        then extract(epoch from now() - (select max(updated_at) from revisions))::float8 * 1000 end as quiet_ms
    from revisions r where r.stage is not null`)
  if (!row) throw new Error("a count returned no row")
  return row
}

export interface StageTime {
  readonly stage: Stage
  readonly count: number
  readonly median_seconds: number
  readonly slowest_seconds: number
}

/**
 * How long stages took, of the revisions that ended within the last hour. A stage lasts from its first claim to that of the
 * next stage, or to the revision's end.
 */
export const recentStageTimes = (db: Db): Promise<StageTime[]> =>
  db.rows(sql`
    with begun as (
      select r.revision_id, r.finished_at, s.key as stage, s.value::timestamptz as at
      from revisions r, jsonb_each_text(r.stage_started_at) s
      where r.finished_at > now() - interval '1 hour'),
    lasted as (
      select stage, extract(epoch from
        coalesce(lead(at) over (partition by revision_id order by at), greatest(finished_at, at)) - at)::float8 as seconds
      from begun)
    select stage, count(*) as count, percentile_cont(0.5) within group (order by seconds) as median_seconds,
      max(seconds) as slowest_seconds
    from lasted group by stage order by stage`)

export interface EndedRevisions {
  readonly status: string
  readonly error_code: string | null
  readonly count: number
}

/** The outcomes of the revisions that ended within the last hour. */
export const recentEnds = (db: Db): Promise<EndedRevisions[]> =>
  db.rows(sql`
    select status, error_code, count(*) as count from revisions
    where finished_at > now() - interval '1 hour' group by status, error_code order by status, error_code`)
