/** What can be done with runs: the one way in for routes, crons and tests. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import { v7 as uuidv7 } from "uuid"
import { resolveAssistant } from "../assistants/operations.js"
import { hasCheckpoint } from "../checkpoints/queries.js"
import type { Subscriber } from "../events/run-stream.js"
import type { RunStreams } from "../events/run-streams.js"
import { findThread } from "../threads/queries.js"
import { metadataOf } from "../threads/thread.js"
import type { Tracing } from "../tracing/tracing.js"
import type { Workers } from "../workers/port.js"
import type { Claimer } from "./claims.js"
import type { Executor } from "./executor.js"
import { followElsewhere } from "./follow.js"
import {
  type CreatedRun,
  cancelRun as cancelInDatabase,
  findRun,
  insertRun,
  type NewRun,
  type RunRow,
} from "./queries.js"
import { checkpointOf, mergeKwargs, mergeMetadata, type ThreadDefaults } from "./request.js"
import { type CancelAction, resultText } from "./run.js"
import type { NewRunBody } from "./schema.js"

/** What the operations stand on. */
export interface Runs {
  readonly log: Log
  readonly db: Database
  readonly workers: Workers
  readonly streams: RunStreams
  readonly executor: Executor
  readonly claimer: Claimer
  /** Where traces are made. */
  readonly tracing?: Tracing | undefined
}

export interface RunRequest {
  /** Undefined for a stateless run, which gets a thread of its own. */
  readonly threadId: string | undefined
  readonly body: NewRunBody
  /** Gets the run's events from the first one on. */
  readonly subscriber?: Subscriber
  /** What commits together with the run: it opens a transaction, and calls `insert` in it. */
  readonly commitWith?: (insert: (tx: Db) => Promise<CreatedRun>) => Promise<CreatedRun>
}

/**
 * Creates a run. It starts at once when this server has room and nothing of its thread is in flight; else it waits in
 * the queue. The subscriber is there before the run can start, so it misses nothing.
 * @throws NotFound  no such assistant, or no such thread and the caller did not ask for one
 * @throws Conflict  the thread is busy and the strategy is `reject`
 */
export async function createRun(runs: Runs, { threadId, body, subscriber, commitWith }: RunRequest): Promise<RunRow> {
  const { db, workers, streams, executor, claimer } = runs
  const ids = { runId: uuidv7(), threadId: threadId ?? uuidv7() }
  const [assistant, thread] = await Promise.all([
    resolveAssistant(db, body.assistant_id, workers.report().graphs),
    threadId === undefined ? noDefaults : threadDefaults(db, threadId),
  ])
  const isStateless = threadId === undefined
  await requireCheckpoint(db, ids.threadId, body)
  const kwargs = mergeKwargs(ids, assistant, thread, body, isStateless)
  const metadata = JSON.stringify(mergeMetadata(assistant, thread, body))
  const strategy = body.multitask_strategy ?? "enqueue"

  const giveBack = executor.reserve()
  if (subscriber) streams.subscribe(ids.runId, subscriber)
  const run = {
    ...ids,
    threadRule: threadRuleOf(isStateless, body),
    threadMetadata: JSON.stringify(body.metadata ?? {}),
    assistantId: assistant.assistantId,
    graphId: assistant.graphId,
    metadata,
    kwargs: JSON.stringify(runs.tracing ? { ...kwargs, traceparent: runs.tracing.traceparent() } : kwargs),
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
  try {
    const created = await (commitWith ? commitWith((tx) => insertRun(tx, run)) : insertRun(db, run))
    if (created.outcome === "no_thread") throw new NotFound(`Thread with ID ${ids.threadId} not found`)
    if (created.outcome === "thread_busy") throw new Conflict(busyText, "thread_busy")
    giveBack?.()
    await begin(runs, run, created, subscriber !== undefined)
    return newRow(run, created)
  } catch (error) {
    giveBack?.()
    if (subscriber) streams.unsubscribe(ids.runId, subscriber)
    throw error
  }
}

/** What follows from a run that is in the table: nothing of it may fail the request, since the run is there. */
async function begin(runs: Runs, run: NewRun, created: CreatedRun, isStreamed: boolean): Promise<void> {
  const { streams, executor, log } = runs
  const { runId } = run
  if (created.claim_id) {
    const { claim_id: claimId, has_checkpoint: hasCheckpoint } = created
    const { deleteThreadOnCompletion: deletesThread } = run
    executor.execute({ ...run, claimId, hasCheckpoint, deletesThread, attempt: 1, runsAlone: false, watchedBy: [] })
  }
  try {
    // Whoever claims it now may be another server, and everything that is logged of it is for this client.
    if (!created.claim_id && isStreamed) await streams.follow(runId, -1)
    for (const stopped of created.stopped) await streams.announceEnd(stopped, endOf(run.multitaskStrategy))
  } catch (err) {
    log.error({ err, run_id: runId }, "clients could not be told what a new run changed")
  }
}

const newRow = (run: NewRun, created: CreatedRun): RunRow => ({
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
  created_at: created.created_at,
  updated_at: created.created_at,
})

/** A run from a checkpoint that is not there would begin anew, and the thread's conversation would seem lost. */
async function requireCheckpoint(db: Database, threadId: string, body: NewRunBody): Promise<void> {
  const { checkpoint_id: id, checkpoint_ns: ns = "" } = checkpointOf(body)
  // A text with U+0000 in it cannot be a parameter, and cannot name anything.
  const isPossible = !`${ns}${id}`.includes("\u0000")
  if (
    id === undefined ||
    (isPossible && (await hasCheckpoint(db, { threadId, checkpointNs: String(ns), checkpointId: String(id) })))
  )
    return
  throw new NotFound(`Thread ${threadId} has no checkpoint ${id}`)
}

// The words that the JS server's tests and clients know (decisions, agent server 2).
const busyText = "Thread is already running a task. Wait for it to finish or choose a different multitask strategy."

const noDefaults: ThreadDefaults = { metadata: {}, config: {} }

async function threadDefaults(db: Database, threadId: string): Promise<ThreadDefaults> {
  const thread = await findThread(db, threadId)
  return thread ? { metadata: metadataOf(thread), config: JSON.parse(thread.config) } : noDefaults
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
  const run = await getRun(runs, threadId, runId)
  await withSubscriber(runs, runId, subscriber, async () => {
    if (after !== undefined && run.is_resumable) return runs.streams.replay(runId, subscriber, after)
    runs.streams.subscribe(runId, subscriber)
    return true
  })
}

/**
 * What a run that is over has to say, as `wait` answers it: the thread's state, or why the run failed.
 * @returns JSON text
 */
export async function resultOfRun({ db }: Pick<Runs, "db">, threadId: string, runId: string): Promise<string> {
  const run = await findRun(db, threadId, runId)
  if (run?.error) return `{"__error__":${run.error}}`
  const thread = run && (await findThread(db, threadId))
  if (!thread) return JSON.stringify({ __error__: { error: "RunGone", message: `run ${runId} was rolled back` } })
  return resultText(thread.values ?? undefined, thread.interrupts, thread.status === "interrupted")
}

/** Subscribes, then follows the run wherever it executes; whatever fails, nobody stays subscribed. */
async function withSubscriber(
  runs: Runs,
  runId: string,
  subscriber: Subscriber,
  subscribe: () => Promise<boolean>,
): Promise<void> {
  const { streams } = runs
  try {
    if (!(await subscribe())) return
    const status = await followElsewhere(runs, runId)
    if (status !== undefined) streams.endSubscriber(runId, subscriber, status)
  } catch (error) {
    streams.unsubscribe(runId, subscriber)
    throw error
  }
}

/**
 * Stops a run: one that waits is over at once, one that executes is asked to stop. `rollback` also removes it and what
 * it wrote. A run that is over already stays as it is.
 * @returns when the request is recorded; with `wait`, when the run is over
 * @throws NotFound  no such run on this thread
 */
export async function cancelRun(runs: Runs, { threadId, runId, action, wait, signal }: CancelRequest): Promise<void> {
  const { db, streams } = runs
  const outcome = await cancelInDatabase(db, threadId, runId, action)
  if (outcome === "none") throw new NotFound(`Run with ID ${runId} not found`)
  if (outcome === "stopped") await streams.announceEnd(runId, endOf(action))
  if (wait) await waitForEnd(runs, runId, signal)
}

export interface CancelRequest {
  readonly threadId: string
  readonly runId: string
  readonly action: CancelAction
  readonly wait: boolean
  /** Ends the waiting: the client has left. */
  readonly signal?: AbortSignal
}

/** Resolves when the run is over or gone, wherever it executes, or when the signal says that nobody waits any more. */
export async function waitForEnd(runs: Runs, runId: string, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const subscriber: Subscriber = { accepts: () => false, write: () => undefined, end: resolve }
    const leave = () => {
      runs.streams.unsubscribe(runId, subscriber)
      resolve()
    }
    signal?.addEventListener("abort", leave, { once: true })
    const subscribe = async () => {
      runs.streams.subscribe(runId, subscriber)
      return true
    }
    withSubscriber(runs, runId, subscriber, subscribe).catch(reject)
  })
}
