/** Statements that search the runs of all threads, for people who look at what ran. */
import type { Db } from "@superstep/toolkit/db/database"
import { joinSql, type Sql, sql } from "@superstep/toolkit/db/sql"
import { toJsonText } from "@superstep/toolkit/http/json"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { matchesFilter } from "../auth/queries.js"
import { createdBy, type RunRow } from "./queries.js"
import type { RunStatus } from "./run.js"

/** What is absent or null is no condition. */
export interface RunFilter {
  readonly statuses?: readonly RunStatus[] | null | undefined
  readonly threadId?: string | null | undefined
  readonly assistantId?: string | null | undefined
  readonly graphId?: string | null | undefined
  /** The revision that executes or executed its last attempt. */
  readonly revisionId?: string | null | undefined
  /** The `identity` of the caller that asked for the run. */
  readonly userId?: string | null | undefined
  /** What the metadata must contain. */
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined
  /** Occurs in the name or the message of the error, in any case. */
  readonly error?: string | null | undefined
  /** Bounds of `created_at`: from this moment on, and before that one. */
  readonly createdAfter?: Date | null | undefined
  readonly createdBefore?: Date | null | undefined
  /** Bounds of the time from when the run was due until its end, or until now. */
  readonly minSeconds?: number | null | undefined
  readonly maxSeconds?: number | null | undefined
}

/** The place of a run in the order of this search: its `created_at` with microseconds, and its id. */
export interface RunPlace {
  readonly createdAt: string
  readonly runId: string
}

export interface RunSearch {
  readonly filter: RunFilter
  /** What the metadata of the run's thread must match. */
  readonly access: MetadataFilter | undefined
  /** Only runs that come after this place. */
  readonly after: RunPlace | undefined
  readonly limit: number
  /** Whether to read these fields, which may be long. */
  readonly withMetadata: boolean
  readonly withKwargs: boolean
}

export interface FoundRun extends RunRow {
  readonly graph_id: string
  /** Its earliest start: later than `created_at` for a run with `after_seconds`. */
  readonly due_at: Date
  /** When its last attempt began. */
  readonly claimed_at: Date | null
  readonly user_id: string | null
  /** The revision that executes or executed its last attempt; null when none does, or it is unknown. */
  readonly executed_revision_id: string | null
  /** Its thread was made for it and is deleted with it. */
  readonly is_stateless: boolean
}

/** The last run that a page has looked at, whether it matches or not. */
export interface PageEnd {
  /** Its place, as `<created_at>_<run_id>`. */
  readonly next: string
  readonly readUntil: Date
}

export interface FoundRuns {
  readonly runs: readonly FoundRun[]
  /** Where the next page begins; undefined when no run is left. */
  readonly end: PageEnd | undefined
  /** The database's clock: every run that was there by then, and belongs to the page, is in it. */
  readonly now: Date
}

// So many runs are looked at for a page, however few of them match: it takes some milliseconds.
const portion = 2000

/** A page of the runs that match, the newest first. It may have fewer than `limit` runs, even none, and a next page nevertheless. */
export async function searchRuns(db: Db, search: RunSearch): Promise<FoundRuns> {
  const { filter, access, after, limit, withMetadata, withKwargs } = search
  const conditions = conditionsOf(filter, access)
  // One more than the page shows, to know whether another follows.
  const most = conditions.length === 0 ? limit + 1 : Math.max(portion, limit + 1)
  // One statement: a run that is removed between two would move the end of what was read.
  const rows = await db.rows<FoundRow | (Read & { readonly run_id: null })>(sql`
    with read_runs as materialized (
      select run_id, created_at, (${allOf(conditions)}) is true as is_match from runs
      where ${allOf(boundsOf(filter, after))}
      order by created_at desc, run_id desc limit ${most}
    ), found as materialized (
      select run_id, created_at from read_runs where is_match order by created_at desc, run_id desc limit ${limit + 1}
    ), read as (
      select now() as read_at, (select count(*) from read_runs) as read_count,
        (select ${placeOf(sql`read_runs`)} from read_runs order by created_at, run_id limit 1) as last_place,
        (select min(created_at) from read_runs) as read_until)
    select read.*, ${placeOf(sql`r`)} as place, r.run_id, r.thread_id, r.assistant_id, r.graph_id, r.status, r.attempt,
      ${withMetadata ? sql`r.metadata` : sql`'{}'::json as metadata`}, ${withKwargs ? sql`r.kwargs` : sql`'{}'::json as kwargs`}, r.error, r.multitask_strategy, r.is_resumable, r.cancel_reason, r.input_saved, ${createdBy(sql`r`)} as created_by, r.created_at, r.updated_at,
      r.claimed_at, r.not_before as due_at, r.executed_revision_id, ${userOf(sql`r`)} as user_id,
      (select t.is_ephemeral from threads t where t.thread_id = r.thread_id) as is_stateless
    from read left join (found join runs r using (run_id)) on true
    order by r.created_at desc, r.run_id desc`)
  const found = rows.filter((row): row is FoundRow => row.run_id !== null)
  const runs = found.slice(0, limit)
  const [read] = rows
  if (!read) throw new Error("searchRuns returned no row")
  return { runs, end: endOf(found.length > limit ? runs.at(-1) : undefined, read, most), now: read.read_at }
}

/** @param last  the last run of a page that has left out matching ones @param most  so many runs were to be looked at */
function endOf(last: FoundRow | undefined, read: Read, most: number): PageEnd | undefined {
  if (last) return { next: last.place, readUntil: last.created_at }
  const { read_count, last_place: next, read_until: readUntil } = read
  return read_count === most && next !== null && readUntil !== null ? { next, readUntil } : undefined
}

interface Read {
  readonly read_at: Date
  readonly read_count: number
  readonly last_place: string | null
  readonly read_until: Date | null
}

interface FoundRow extends FoundRun, Read {
  readonly place: string
}

const allOf = (conditions: readonly Sql[]): Sql => (conditions.length === 0 ? sql`true` : joinSql(conditions, " and "))

const placeOf = (run: Sql): Sql =>
  sql`to_char(${run}.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '_' || ${run}.run_id`

const userOf = (run: Sql): Sql => sql`part_of_json(${run}.caller, '{langgraph_auth_user_id}') #>> '{}'`

const when = <Value>(value: Value | null | undefined, condition: (value: Value) => Sql): Sql[] =>
  value === null || value === undefined ? [] : [condition(value)]

/** What an index restricts. */
const boundsOf = ({ threadId, createdAfter, createdBefore }: RunFilter, after: RunPlace | undefined): Sql[] => [
  ...when(after, ({ createdAt, runId }) => sql`(created_at, run_id) < (${createdAt}::timestamptz, ${runId}::uuid)`),
  ...when(threadId, (id) => sql`thread_id = ${id}`),
  ...when(createdAfter, (moment) => sql`created_at >= ${moment}`),
  ...when(createdBefore, (moment) => sql`created_at < ${moment}`),
]

/** What is looked at in each run. */
const conditionsOf = (filter: RunFilter, access: MetadataFilter | undefined): Sql[] => [
  ...when(filter.statuses, (statuses) => sql`status = any (${statuses})`),
  ...when(filter.assistantId, (id) => sql`assistant_id = ${id}`),
  ...when(filter.graphId, (id) => sql`graph_id = ${id}`),
  ...when(filter.revisionId, (id) => sql`executed_revision_id = ${id}`),
  ...when(filter.userId, (id) => sql`${userOf(sql`runs`)} = ${id}`),
  ...when(filter.metadata, (wanted) => sql`searchable(metadata) @> searchable(${toJsonText(wanted)}::json)`),
  ...when(filter.error, (text) => sql`strpos(lower(${errorText}), lower(${text})) > 0`),
  ...when(filter.minSeconds, (least) => sql`${seconds} >= ${least}`),
  ...when(filter.maxSeconds, (most) => sql`${seconds} <= ${most}`),
  ...when(
    access,
    // Not `exists`: Postgres may answer that from all threads at once, for any number of runs.
    (rule) =>
      sql`(select ${matchesFilter(sql`t.searchable_metadata`, rule)} from threads t where t.thread_id = runs.thread_id)`,
  ),
]

const errorText = sql`concat_ws(': ', part_of_json(error, '{error}') #>> '{}', part_of_json(error, '{message}') #>> '{}')`

const seconds = sql`extract(epoch from
  case when status in ('pending', 'running') then now() else updated_at end - greatest(created_at, not_before))`
