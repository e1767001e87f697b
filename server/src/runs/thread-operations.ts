/** Operations on the runs of a thread, or on many runs at once. */
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { parsedJson, toJsonText } from "@superstep/toolkit/http/json"
import { requireApproval } from "../acts/act.js"
import { recordedDeletion } from "../acts/deletions.js"
import { anyone, type Caller } from "../auth/caller.js"
import { findVersion } from "../threads/queries.js"
import { getThreadState, newestState } from "../threads/state-operations.js"
import { type NamedRun, type Runs, runNotFound, stopRun } from "./operations.js"
import {
  deleteRun as deleteInDatabase,
  findRun,
  findRuns,
  findRunsToStop,
  type RunQuery,
  type RunRow,
  showState,
} from "./queries.js"
import type { CancelAction, RunStatus } from "./run.js"

/**
 * Lists runs of a thread, newest first.
 * @throws NotFound  no such thread
 */
export async function listRuns({ db }: Pick<Runs, "db">, caller: Caller, query: RunQuery): Promise<RunRow[]> {
  const { threadId, status, metadata, limit, offset } = query
  const asked = { thread_id: threadId, metadata: metadata ?? {}, status: status ?? null, limit, offset }
  const { value, filter } = await caller.authorize("threads:search", asked)
  const wanted = Object.keys(value.metadata ?? {}).length === 0 ? undefined : value.metadata
  const found = await findRuns(db, { ...query, metadata: wanted }, filter)
  if (!found) throw new NotFound(`Thread with ID ${threadId} not found`)
  return found
}

/**
 * Removes a run and the checkpoints that it wrote. Deleting a run that waits or executes would leave a thread that looks busy,
 * and a worker whose writes fail, so it must be stopped first (agent-server-api §6.5, fault 15).
 * @param isForced  stops and removes the run first, like a cancel with `rollback`
 * @throws NotFound  no such run on this thread
 * @throws Forbidden  the person may not approve
 * @throws Conflict  the run is not over, or a waiting or running run starts from one of its checkpoints
 */
export async function deleteRun(
  runs: Runs,
  { caller, threadId, runId, isForced, signal }: NamedRun & { isForced: boolean; signal?: AbortSignal },
): Promise<void> {
  const { db } = runs
  requireApproval(caller, "the deletion of a run")
  const { filter } = await caller.authorize("threads:delete", { thread_id: threadId, run_id: runId })
  if (filter !== undefined && !(await findRun(db, threadId, runId, filter))) throw runNotFound(runId)
  const remove = () =>
    recordedDeletion(
      db,
      caller,
      (tx) => deleteInDatabase(tx, threadId, runId),
      (it) => (it.outcome === "deleted" ? [{ type: "run", id: runId, threadId }] : []),
    )
  const { outcome, user } = await remove()
  if (outcome === "none") throw runNotFound(runId)
  if (outcome === "deleted") return afterDeletion(runs, threadId, runId)
  if (outcome === "in_use") throw inUse(user)
  if (!isForced) throw new Conflict(notOver, "run_in_flight")
  await stopRun(runs, { threadId, runId, action: "rollback", wait: true, by: caller, ...(signal && { signal }) })
  // The run may have ended by itself at this moment.
  const last = signal?.aborted ? undefined : await remove()
  if (last?.outcome === "in_use") throw inUse(last.user)
  await afterDeletion(runs, threadId, runId)
}

/** Updates the thread's state. The run is deleted, so a failure here must not fail the request. */
async function afterDeletion(runs: Runs, threadId: string, runId: string): Promise<void> {
  await showRemainingState(runs, threadId).catch((err: unknown) =>
    runs.log.warn(
      { err, thread_id: threadId, run_id: runId },
      "the state of a thread could not be updated after the deletion of a run",
    ),
  )
}

/** A thread's state as a worker reports it. */
interface State {
  readonly values: unknown
  readonly next: readonly string[]
  readonly created_at: string | null
  readonly tasks: readonly { readonly id: string; readonly interrupts?: readonly unknown[] }[]
}

/**
 * Computes the state again and writes it to the thread's row, unless a run or an update has changed the thread meanwhile
 * and so written the right state.
 */
async function showRemainingState({ db, workers }: Runs, threadId: string): Promise<void> {
  const thread = await findVersion(db, threadId)
  if (!thread || thread.is_busy) return
  const asked = { ...newestState, subgraphs: false, select: undefined }
  const found = await getThreadState({ db, workers }, anyone, threadId, asked)
  const state = parsedJson(found) as State
  const open = state.tasks.filter(({ interrupts = [] }) => interrupts.length > 0)
  await showState(db, threadId, {
    version: thread.version,
    // A thread without a checkpoint has no values yet.
    values: state.created_at === null ? null : toJsonText(state.values),
    interrupts: toJsonText(Object.fromEntries(open.map(({ id, interrupts }) => [id, interrupts]))),
    status: state.next.length === 0 ? "idle" : "interrupted",
  })
}

// It would start as an empty conversation.
const inUse = (user: string | null) =>
  new Conflict(`run ${user} of this thread starts from a checkpoint of this run: cancel it first`, "run_in_use")

const notOver = "the run is not over: cancel it first, or delete it with ?force=true"

/** All runs with a status, or the named runs of one thread. */
export type ManyRuns =
  | { readonly status: "pending" | "running" | "all" }
  | { readonly threadId: string; readonly runIds: readonly string[] }

/**
 * Stops many runs; a run that is already over stays as it is.
 * @throws NotFound  no run matches
 * @throws Forbidden  a rollback, and the person may not approve
 */
export async function cancelRuns(runs: Runs, caller: Caller, wanted: ManyRuns, action: CancelAction): Promise<void> {
  const isSome = "runIds" in wanted
  if (action === "rollback") requireApproval(caller, "a rollback")
  const { filter } = await caller.authorize("threads:update", {
    ...(isSome && { thread_id: wanted.threadId }),
    action,
    metadata: isSome ? { run_ids: wanted.runIds } : { status: wanted.status },
  })
  const found = await findRunsToStop(runs.db, isSome ? wanted : { statuses: statusesOf(wanted.status) }, filter)
  let areGone = true
  for (const { thread_id: threadId, run_id: runId } of found) {
    try {
      await stopRun(runs, { threadId, runId, action, wait: false, by: caller })
      areGone = false
    } catch (error) {
      // A run that was deleted meanwhile need not be stopped.
      if (!(error instanceof NotFound)) throw error
    }
  }
  if (areGone) throw new NotFound("no run matches")
}

const statusesOf = (status: "pending" | "running" | "all"): readonly RunStatus[] =>
  status === "all" ? ["pending", "running"] : [status]
