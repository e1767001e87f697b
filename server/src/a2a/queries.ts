/** SQL of tasks. A task has the id of its first run. Each later run of a task names it in its metadata. */
import type { Db } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { matchesFilter } from "../auth/queries.js"
import type { TaskRun } from "./task.js"

/** The metadata key with which a run names the task that it continues. */
export const taskKey = "a2a_task_id"

/**
 * Whether a run has asked nothing and left no state: it waits until it is due, or was cancelled while it waited. Each of its attempts was lost, or it
 * had none.
 */
const changedNothing = (run: Sql) =>
  sql`((${run}.status = 'interrupted' or ${run}.status = 'pending' and ${run}.not_before > superstep_now())
    and ${run}.attempt = coalesce(jsonb_array_length(${run}.past_attempts), 0))`

const columns = sql`r.run_id, r.thread_id, r.assistant_id, r.status, r.attempt, r.metadata, r.kwargs, r.error,
  r.multitask_strategy, r.is_resumable, r.cancel_reason, r.input_saved, r.created_at, r.updated_at,
  not ${changedNothing(sql`r`)} and not exists (select from runs later where later.thread_id = r.thread_id
    and is_due_before(r, later) and not ${changedNothing(sql`later`)}) as is_latest,
  status_of(t) as thread_status, t.values, t.interrupts`

/**
 * The newest run of a task, which decides the task's state, with the thread at the same moment: an answer that starts between two statements
 * would make the question look cancelled.
 * @param filter  what the thread's metadata must match
 */
export const findTaskRun = (db: Db, taskId: string, filter?: MetadataFilter): Promise<TaskRun | undefined> =>
  db.row<TaskRun>(sql`
    select ${columns}
    from runs first join runs r on r.thread_id = first.thread_id join threads t on t.thread_id = first.thread_id
    where first.run_id = ${taskId} and ${matchesFilter(sql`t.searchable_metadata`, filter)}
      and (r.run_id = first.run_id or searchable(r.metadata) ->> ${taskKey} = first.run_id::text)
    order by r.created_at desc, r.run_id desc limit 1`)

export interface TaskPage {
  readonly threadId: string
  readonly assistantId: string
  readonly limit: number
  readonly offset: number
}

/** Ids of the tasks of a thread, newest first. */
export async function findTaskIds(db: Db, { threadId, assistantId, limit, offset }: TaskPage): Promise<string[]> {
  const rows = await db.rows<{ run_id: string }>(sql`
    select run_id from runs
    where thread_id = ${threadId} and assistant_id = ${assistantId} and searchable(metadata) ->> ${taskKey} is null
    order by created_at desc, run_id desc limit ${limit} offset ${offset}`)
  return rows.map(({ run_id }) => run_id)
}
