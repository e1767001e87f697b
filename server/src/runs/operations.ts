/** What can be done with runs: the one way in for routes, crons and tests. */
import type { Database } from "@superstep/toolkit/db/database"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import { v7 as uuidv7 } from "uuid"
import { resolveAssistant } from "../assistants/operations.js"
import type { Subscriber } from "../events/run-stream.js"
import type { RunStreams } from "../events/run-streams.js"
import { findThread } from "../threads/queries.js"
import { shownMetadata } from "../threads/thread.js"
import type { Workers } from "../workers/port.js"
import type { Claimer } from "./claims.js"
import type { Executor } from "./executor.js"
import { cancelRun as cancelInDatabase, findRun, insertRun, type RunRow, watchRun } from "./queries.js"
import { mergeKwargs, mergeMetadata, type ThreadDefaults } from "./request.js"
import { type CancelAction, isFinal } from "./run.js"
import type { NewRunBody } from "./schema.js"

/** What the operations stand on. */
export interface Runs {
  readonly log: Log
  readonly db: Database
  readonly workers: Workers
  readonly streams: RunStreams
  readonly executor: Executor
  readonly claimer: Claimer
}

export interface RunRequest {
  /** Undefined for a stateless run, which gets a thread of its own. */
  readonly threadId: string | undefined
  readonly body: NewRunBody
  /** Gets the run's events from the first one on. */
  readonly subscriber?: Subscriber
}

/**
 * Creates a run. It starts at once when this server has room and nothing of its thread is in flight; else it waits in
 * the queue. The subscriber is there before the run can start, so it misses nothing.
 * @throws NotFound  no such assistant, or no such thread and the caller did not ask for one
 * @throws Conflict  the thread is busy and the strategy is `reject`
 */
export async function createRun(runs: Runs, { threadId, body, subscriber }: RunRequest): Promise<RunRow> {
  const { db, workers, streams, executor, claimer } = runs
  const assistant = await resolveAssistant(db, body.assistant_id, workers.report().graphs)
  const ids = { runId: uuidv7(), threadId: threadId ?? uuidv7() }
  const thread = threadId === undefined ? noDefaults : await threadDefaults(db, threadId)
  const isStateless = threadId === undefined
  const kwargs = mergeKwargs(ids, assistant, thread, body, isStateless)
  const metadata = JSON.stringify(mergeMetadata(assistant, thread, body))
  const strategy = body.multitask_strategy ?? "enqueue"

  const giveBack = executor.reserve()
  if (subscriber) streams.subscribe(ids.runId, subscriber)
  try {
    const run = {
      ...ids,
      threadRule: threadRuleOf(isStateless, body),
      assistantId: assistant.assistantId,
      graphId: assistant.graphId,
      metadata,
      kwargs: JSON.stringify(kwargs),
      multitaskStrategy: strategy,
      isResumable: kwargs.resumable,
      deleteThreadOnCompletion: isStateless && body.on_completion !== "keep",
      afterSeconds: body.after_seconds ?? 0,
      serverId: claimer.serverId,
      revisionId: claimer.revisionId,
      leaseMs: claimer.leaseMs,
      canExecute: giveBack !== undefined,
      isStreamed: subscriber !== undefined,
    } as const
    const created = await insertRun(db, run)
    if (created.outcome === "no_thread") throw new NotFound(`Thread with ID ${ids.threadId} not found`)
    if (created.outcome === "thread_busy") throw new Conflict(busyText, "thread_busy")
    for (const stopped of created.stopped) await streams.announceEnd(stopped, endOf(strategy))
    const { claim_id: claimId, has_checkpoint: hasCheckpoint, created_at } = created
    giveBack?.()
    if (claimId) executor.execute({ ...run, claimId, hasCheckpoint, attempt: 1, watchedBy: [] })
    // Whoever claims it now may be another server.
    else if (subscriber) await streams.follow(ids.runId)
    return {
      run_id: ids.runId,
      thread_id: ids.threadId,
      assistant_id: run.assistantId,
      status: "pending",
      attempt: claimId ? 1 : 0,
      metadata,
      kwargs: run.kwargs,
      error: null,
      multitask_strategy: strategy,
      is_resumable: run.isResumable,
      claimed_by: claimId && claimer.serverId,
      created_at,
      updated_at: created_at,
    }
  } catch (error) {
    giveBack?.()
    if (subscriber) streams.unsubscribe(ids.runId, subscriber)
    throw error
  }
}

// The words that the JS server's tests and clients know (decisions, agent server 2).
const busyText = "Thread is already running a task. Wait for it to finish or choose a different multitask strategy."

const noDefaults: ThreadDefaults = { metadata: {}, config: {} }

async function threadDefaults(db: Database, threadId: string): Promise<ThreadDefaults> {
  const thread = await findThread(db, threadId)
  if (!thread) return noDefaults
  const metadata = shownMetadata(thread)
  return { metadata: "text" in metadata ? JSON.parse(thread.metadata) : metadata, config: JSON.parse(thread.config) }
}

function threadRuleOf(isStateless: boolean, { if_not_exists }: NewRunBody) {
  if (isStateless) return "ephemeral"
  return if_not_exists === "create" ? "create_if_missing" : "must_exist"
}

const endOf = (action: string): string => (action === "rollback" ? "rollback" : "interrupted")

/** @throws NotFound  no such run on this thread */
export async function getRun({ db }: Pick<Runs, "db">, threadId: string, runId: string): Promise<RunRow> {
  const run = await findRun(db, threadId, runId)
  if (!run) throw new NotFound(`Run with ID ${runId} not found`)
  return run
}

/**
 * Joins a run's stream, wherever it executes. Without `after` the subscriber gets what comes from now on; with it, and
 * when the run is resumable, everything after that event first. A run that is over gives one `end`.
 * @throws NotFound  no such run on this thread
 */
export async function joinRun(
  runs: Runs,
  {
    threadId,
    runId,
    subscriber,
    after,
  }: {
    threadId: string
    runId: string
    subscriber: Subscriber
    after: number | undefined
  },
): Promise<void> {
  const { streams } = runs
  const run = await getRun(runs, threadId, runId)
  if (after !== undefined && run.is_resumable) {
    if (!(await streams.replay(runId, subscriber, after))) return
  } else {
    streams.subscribe(runId, subscriber)
  }
  await followWhereItExecutes(runs, runId, subscriber)
}

async function followWhereItExecutes({ db, streams, claimer }: Runs, runId: string, subscriber: Subscriber) {
  if (streams.isExecuting(runId)) return
  // It executes elsewhere, waits, or is over: begin to follow before asking which, so that its end cannot be missed.
  await streams.follow(runId)
  const now = await watchRun(db, runId, claimer.serverId)
  if (!now || isFinal(now.status)) streams.endSubscriber(runId, subscriber, now?.status ?? "rollback")
}

/**
 * Stops a run: one that waits is over at once, one that executes is asked to stop. `rollback` also removes it and what
 * it wrote. A run that is over already stays as it is.
 * @returns when the request is recorded; with `wait`, when the run is over
 * @throws NotFound  no such run on this thread
 */
export async function cancelRun(
  runs: Runs,
  { threadId, runId, action, wait }: { threadId: string; runId: string; action: CancelAction; wait: boolean },
): Promise<void> {
  const { db, streams } = runs
  const outcome = await cancelInDatabase(db, threadId, runId, action)
  if (outcome === "none") throw new NotFound(`Run with ID ${runId} not found`)
  if (outcome === "stopped") await streams.announceEnd(runId, endOf(action))
  if (wait) await waitForEnd(runs, runId)
}

/** Resolves when the run is over or gone, wherever it executes. */
export async function waitForEnd(runs: Runs, runId: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const subscriber: Subscriber = { accepts: () => false, write: () => undefined, end: resolve }
    runs.streams.subscribe(runId, subscriber)
    followWhereItExecutes(runs, runId, subscriber).catch(reject)
  })
}
