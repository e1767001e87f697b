/** Which runs belong to a task. The run that begins a task gives it its id; those that answer its questions name it. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { TaskRun } from "./task.js"

/** The key in a run's metadata by which it names the task that it goes on with. */
export const taskKey = "a2a_task_id"

const columns = sql`r.run_id, r.thread_id, r.assistant_id, r.status, r.attempt, r.metadata, r.kwargs, r.error,
  r.multitask_strategy, r.is_resumable, r.created_at, r.updated_at,
  not exists (select from runs later where later.thread_id = r.thread_id
    and (later.created_at, later.run_id) > (r.created_at, r.run_id)) as is_latest`

/** Where a task stands. */
export const findTaskRun = (db: Db, taskId: string): Promise<TaskRun | undefined> =>
  db.row<TaskRun>(sql`
    select ${columns} from runs began join runs r on r.thread_id = began.thread_id
    where began.run_id = ${taskId}
      and (r.run_id = began.run_id or searchable(r.metadata) ->> ${taskKey} = began.run_id::text)
    order by r.created_at desc, r.run_id desc limit 1`)

export interface TaskPage {
  readonly threadId: string
  readonly assistantId: string
  readonly limit: number
  readonly offset: number
}

/** Ids of the tasks of a thread, the newest first. */
export async function findTaskIds(db: Db, { threadId, assistantId, limit, offset }: TaskPage): Promise<string[]> {
  const rows = await db.rows<{ run_id: string }>(sql`
    select run_id from runs
    where thread_id = ${threadId} and assistant_id = ${assistantId} and searchable(metadata) ->> ${taskKey} is null
    order by created_at desc, run_id desc limit ${limit} offset ${offset}`)
  return rows.map(({ run_id }) => run_id)
}
