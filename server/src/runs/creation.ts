/**
 * Puts prepared runs into the table, and starts what can start.
 *
 * What is inserted commits before anything of it begins, and nothing that happens afterwards may fail the request: the
 * runs are there. Several runs, a key and a condition on the thread need a transaction; one plain run is one statement.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { isSqlState, sqlState } from "@superstep/toolkit/db/database"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import type { Subscriber } from "../events/run-stream.js"
import { type Answer, answerOnce, type RequestKey } from "../idempotency/answers.js"
import type { Runs } from "./parts.js"
import { type PreparedRun, runIdTaken } from "./preparation.js"
import { type CreatedRun, insertRun, isThreadVisible, type NewRun, type RunRow } from "./queries.js"
import type { Turn } from "./turns.js"

export interface Launch {
  /** Gets the events of the first run, from the first one on. */
  readonly subscriber?: Subscriber | undefined
  /** The request may come again. */
  readonly key?: Repeatable | undefined
  /** When the run may be put into the queue of its thread; taken when the runs are asked for, unless it was before. */
  readonly turn?: Turn | undefined
  /** What commits together with the runs: it opens a transaction, and calls `insert` in it. */
  readonly commitWith?: (<Made>(insert: (tx: Db) => Promise<Made>) => Promise<Made>) | undefined
}

export interface Repeatable {
  readonly key: RequestKey
  /** What the request is answered when it comes again. */
  readonly answer: (rows: readonly RunRow[]) => Answer
}

interface Inserted {
  readonly run: NewRun
  readonly created: CreatedRun
}

/**
 * Inserts all or none. A subscriber is there before the run can start, so it misses nothing.
 * @returns the rows; or what the same request was answered before, when another one with its key was quicker
 */
export async function launchRuns(
  runs: Runs,
  prepared: readonly PreparedRun[],
  { subscriber, key, commitWith, turn }: Launch,
): Promise<readonly RunRow[] | Answer> {
  const { streams, executor } = runs
  await turn?.come()
  const first = prepared[0]?.run.runId ?? ""
  const slots = prepared.map(() => executor.reserve())
  if (subscriber) streams.subscribe(first, subscriber)
  const giveUp = () => {
    for (const giveBack of slots) giveBack?.()
    if (subscriber) streams.unsubscribe(first, subscriber)
  }
  try {
    const planned = prepared.map(({ run, filter }, n) => ({
      run: { ...run, canExecute: slots[n] !== undefined, isStreamed: subscriber !== undefined },
      filter,
    }))
    const inserted = await insertOnce(runs, planned, { key, commitWith })
    turn?.end()
    if ("status" in inserted) {
      giveUp()
      return inserted
    }
    for (const [n, each] of inserted.entries()) {
      // Nobody else may take the slot between the two.
      slots[n]?.()
      await begin(runs, each)
    }
    return inserted.map(rowOf)
  } catch (error) {
    giveUp()
    throw error
  }
}

interface Planned {
  readonly run: NewRun
  readonly filter: PreparedRun["filter"]
}

async function insertOnce(
  { db }: Runs,
  planned: readonly Planned[],
  { key, commitWith }: Pick<Launch, "key" | "commitWith">,
) {
  if (commitWith) return commitWith((tx) => insertEach(tx, planned))
  if (!key) return insertAll(db, planned)
  let inserted: readonly Inserted[] = []
  const { answer, isRepeated } = await answerOnce(db, key.key, async (tx) => {
    inserted = await insertEach(tx, planned)
    return key.answer(inserted.map(rowOf))
  })
  return isRepeated ? answer : inserted
}

function insertAll(db: Runs["db"], planned: readonly Planned[]): Promise<readonly Inserted[]> {
  const isPlain = planned.length === 1 && planned[0]?.filter === undefined
  return isPlain ? insertEach(db, planned) : db.transaction((tx) => insertEach(tx, planned))
}

async function insertEach(db: Db, planned: readonly Planned[]): Promise<readonly Inserted[]> {
  const inserted: Inserted[] = []
  for (const { run, filter } of planned) {
    const created = await insertRun(db, run).catch((error: unknown) => {
      if (!isSqlState(error, sqlState.uniqueViolation, "runs_pkey")) throw error
      throw runIdTaken(run.runId)
    })
    const isHidden =
      filter !== undefined &&
      created.outcome !== "no_thread" &&
      !(await isThreadVisible(db, run.threadId, filter, { orNew: true }))
    if (created.outcome === "no_thread" || isHidden) throw new NotFound(`Thread with ID ${run.threadId} not found`)
    if (created.outcome === "thread_busy") throw new Conflict(busyText, "thread_busy")
    inserted.push({ run, created })
  }
  return inserted
}

// The words that the JS server's tests and clients know (decisions, agent server 2).
const busyText = "Thread is already running a task. Wait for it to finish or choose a different multitask strategy."

/** What follows from a run that is in the table: nothing of it may fail the request, since the run is there. */
async function begin({ streams, executor, log }: Runs, { run, created }: Inserted): Promise<void> {
  const { runId } = run
  if (created.claim_id) {
    const { claim_id: claimId, has_checkpoint: hasCheckpoint, followed_ms: followedMs } = created
    const { deleteThreadOnCompletion: deletesThread } = run
    const others = { attempt: 1, runsAlone: false, watchedBy: [] }
    executor.execute({ ...run, claimId, hasCheckpoint, deletesThread, followedMs, ...others })
  }
  try {
    // Whoever claims it now may be another server, and everything that is logged of it is for this client.
    if (!created.claim_id && run.isStreamed) await streams.follow(runId, -1)
    const status = run.multitaskStrategy === "rollback" ? "rollback" : "interrupted"
    for (const stopped of created.stopped) await streams.announceEnd(stopped, status)
  } catch (err) {
    log.error({ err, run_id: runId }, "clients could not be told what a new run changed")
  }
}

const rowOf = ({ run, created }: Inserted): RunRow => ({
  run_id: run.runId,
  thread_id: run.threadId,
  assistant_id: run.assistantId,
  status: "pending",
  attempt: created.claim_id ? 1 : 0,
  metadata: run.metadata,
  kwargs: run.kwargs,
  error: null,
  multitask_strategy: run.multitaskStrategy,
  is_resumable: run.isResumable,
  cancel_reason: null,
  created_at: created.created_at,
  updated_at: created.created_at,
})
