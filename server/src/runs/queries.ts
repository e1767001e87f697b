/** Statements on runs that are not the queue's own. One exported function a statement. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { CancelAction, MultitaskStrategy, RunStatus } from "./run.js"

export interface RunRow {
  readonly run_id: string
  readonly thread_id: string
  readonly assistant_id: string
  readonly status: RunStatus
  readonly attempt: number
  /** JSON texts. */
  readonly metadata: string
  readonly kwargs: string
  readonly error: string | null
  readonly multitask_strategy: MultitaskStrategy
  readonly is_resumable: boolean
  readonly created_at: Date
  readonly updated_at: Date
}

export const findRun = (db: Db, threadId: string, runId: string): Promise<RunRow | undefined> =>
  db.row<RunRow>(sql`
    select run_id, thread_id, assistant_id, status, attempt, metadata, kwargs, error, multitask_strategy, is_resumable,
      created_at, updated_at
    from runs where thread_id = ${threadId} and run_id = ${runId}`)

/** The statuses of runs; one that is gone has none. */
export const findStatuses = (db: Db, runIds: readonly string[]): Promise<{ run_id: string; status: RunStatus }[]> =>
  db.rows(sql`select run_id, status from runs where run_id = any (${runIds}::uuid[])`)

/** The run that executes on a thread now. */
export const findRunningRun = async (db: Db, threadId: string): Promise<string | undefined> => {
  const row = await db.row<{ run_id: string }>(sql`
    select run_id from runs where thread_id = ${threadId} and status = 'running'`)
  return row?.run_id
}

export interface NewRun {
  readonly runId: string
  readonly threadId: string
  /** What to do about the thread: it is there, it may be made, or it is made for this run alone. */
  readonly threadRule: "must_exist" | "create_if_missing" | "ephemeral"
  /** JSON text: the metadata of a thread that is made. */
  readonly threadMetadata: string
  readonly assistantId: string
  readonly graphId: string
  readonly metadata: string
  readonly kwargs: string
  readonly multitaskStrategy: MultitaskStrategy
  readonly isResumable: boolean
  readonly deleteThreadOnCompletion: boolean
  readonly afterSeconds: number
  readonly serverId: string
  readonly revisionId: string | null
  /** Whether this server has a free slot, so that the run need not wait in the queue. */
  readonly canExecute: boolean
  /** Whether a client of this server listens from the start. */
  readonly isStreamed: boolean
  readonly leaseMs: number
}

export interface CreatedRun {
  readonly outcome: "created" | "no_thread" | "thread_busy"
  /** The claim of this server when the run starts at once. */
  readonly claim_id: string | null
  readonly has_checkpoint: boolean
  /** Waiting runs that the multitask strategy ended. */
  readonly stopped: readonly string[]
  readonly created_at: Date
}

/** Inserts a run, applies the multitask strategy and claims the run where it can start: one round trip. */
export const insertRun = async (db: Db, run: NewRun): Promise<CreatedRun> => {
  const row = await db.row<CreatedRun>(sql`
    select * from create_run(${run.runId}, ${run.threadId}, ${run.threadRule}, ${run.threadMetadata}, ${run.assistantId},
      ${run.graphId}, ${run.metadata}, ${run.kwargs}, ${run.multitaskStrategy}, ${run.isResumable},
      ${run.deleteThreadOnCompletion}, ${run.afterSeconds}, ${run.serverId}, ${run.canExecute}, ${run.isStreamed},
      ${run.leaseMs}, ${run.revisionId})`)
  if (!row) throw new Error("create_run returned nothing")
  return row
}

/** Ends a waiting run at once and asks the worker of a running one to stop. */
export const cancelRun = async (db: Db, threadId: string, runId: string, action: CancelAction) => {
  const row = await db.row<{ outcome: "none" | "over" | "stopped" | "stopping" }>(
    sql`select cancel_run(${threadId}, ${runId}, ${action}) as outcome`,
  )
  if (!row) throw new Error("cancel_run returned nothing")
  return row.outcome
}

/**
 * Notes that a server has clients of a run that executes elsewhere, and tells the one that executes it.
 * @returns the run's status after that; undefined when it is gone
 */
export const watchRun = async (db: Db, runId: string, serverId: string): Promise<RunStatus | undefined> => {
  const row = await db.row<{ status: RunStatus | null }>(sql`select watch_run(${runId}, ${serverId}) as status`)
  return row?.status ?? undefined
}
