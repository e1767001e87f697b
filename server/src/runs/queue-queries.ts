/** Statements that show the queue to people. Those of the queue itself are in `claims.ts`. */
import type { Db } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { matchesFilter } from "../auth/queries.js"
import type { Page } from "../http/pagination.js"
import type { WaitFacts } from "./queue-entry.js"
import type { MultitaskStrategy } from "./run.js"

export interface QueuedRow extends WaitFacts {
  readonly run_id: string
  readonly thread_id: string
  readonly assistant_id: string
  readonly graph_id: string
  readonly status: "pending" | "running"
  readonly attempt: number
  readonly multitask_strategy: MultitaskStrategy
  /** JSON text. */
  readonly metadata: string
  readonly created_at: Date
  /** When the present attempt began, or when the run began to wait. */
  readonly since: Date
}

const isVisible = (filter: MetadataFilter | undefined): Sql =>
  filter === undefined
    ? sql`true`
    : sql`exists (select from threads t where t.thread_id = runs.thread_id and ${matchesFilter(sql`t.searchable_metadata`, filter)})`

export interface QueuedWhich {
  readonly status: "pending" | "running"
  /** Which threads the caller may see. */
  readonly filter: MetadataFilter | undefined
  /** Only this run. */
  readonly runId?: string | undefined
}

const isWanted = ({ status, filter, runId }: QueuedWhich): Sql =>
  sql`status = ${status} and ${isVisible(filter)} and ${runId === undefined ? sql`true` : sql`run_id = ${runId}`}`

/** Runs of all threads that match the filter: waiting ones in the order in which they are claimed, running ones by their start. */
export const findQueuedRuns = (db: Db, { page, ...which }: QueuedWhich & { page: Page }): Promise<QueuedRow[]> =>
  db.rows<QueuedRow>(sql`
    select r.run_id, r.thread_id, r.assistant_id, r.graph_id, r.status, r.attempt, r.multitask_strategy, r.metadata, r.created_at,
      case when r.status = 'running' then coalesce(r.claimed_at, r.updated_at) when r.attempt = 0 then r.created_at else r.updated_at end as since,
      r.not_before, r.not_before <= now() as is_due, r.runs_alone, r.revision_id,
      (select o.run_id from runs o where o.thread_id = r.thread_id and o.status = 'running' and o.run_id <> r.run_id
        order by o.seq limit 1) as thread_runs,
      (select o.run_id from runs o where o.thread_id = r.thread_id and o.status = 'pending' and is_due_before(o, r)
        order by o.seq limit 1) as thread_waits
    from (
      select * from runs where ${isWanted(which)}
      order by ${which.status === "pending" ? sql`not_before, seq` : sql`coalesce(claimed_at, updated_at), seq`}
      limit ${page.limit} offset ${page.offset}) r
    order by ${which.status === "pending" ? sql`r.not_before, r.seq` : sql`coalesce(r.claimed_at, r.updated_at), r.seq`}`)

export const countQueuedRuns = async (db: Db, which: QueuedWhich): Promise<number> => {
  const row = await db.row<{ count: number }>(sql`select count(*) as count from runs where ${isWanted(which)}`)
  return row?.count ?? 0
}
