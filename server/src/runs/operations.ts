/** What can be done with runs: the one way in for routes, crons and tests. */
import { NotFound } from "@superstep/toolkit/errors/errors"
import type { Caller } from "../auth/caller.js"
import type { Subscriber } from "../events/run-stream.js"
import { type Answer, answeredBefore } from "../idempotency/answers.js"
import { type Launch, launchRuns } from "./creation.js"
import { followElsewhere } from "./follow.js"
import type { Runs } from "./parts.js"
import { prepareRun, type RunRequest } from "./preparation.js"
import { cancelRun as cancelInDatabase, findRun, findThreadId, isThreadVisible, type RunRow } from "./queries.js"
import type { CancelAction } from "./run.js"

export type { Runs } from "./parts.js"

/**
 * Creates a run. It starts at once when this server has room and nothing of its thread is in flight; else it waits in
 * the queue. The subscriber is there before the run can start, so it misses nothing.
 * @throws NotFound  no such assistant, or no such thread and the caller did not ask for one
 * @throws Conflict  the thread is busy and the strategy is `reject`, or the run's id is taken
 */
export async function createRun(
  runs: Runs,
  { subscriber, commitWith, ...request }: RunRequest & Pick<Launch, "subscriber" | "commitWith">,
): Promise<RunRow> {
  const made = await createRuns(runs, [request], { subscriber, commitWith })
  const [row] = "status" in made ? [] : made
  if (!row) throw new Error("a run that was created has no row")
  return row
}

/**
 * Creates all of the runs or none, in order.
 * @returns the rows; or what the same request was answered before
 */
export async function createRuns(
  runs: Runs,
  requests: readonly RunRequest[],
  options: Launch,
): Promise<readonly RunRow[] | Answer> {
  // Several are stateless, so each has a thread of its own.
  const [{ threadId } = { threadId: undefined }] = requests
  const turn = options.turn ?? (threadId === undefined ? undefined : runs.turns.take(threadId))
  try {
    // Before anything is asked of rules and assistants, which may have changed since.
    const before = await answeredBefore(runs.db, options.key?.key)
    if (before) return before
    const prepared = await Promise.all(requests.map((request) => prepareRun(runs, request)))
    return await launchRuns(runs, prepared, { ...options, turn })
  } finally {
    turn?.end()
  }
}

/** A run that somebody names. */
export interface NamedRun {
  readonly caller: Caller
  readonly threadId: string
  readonly runId: string
}

/** @throws NotFound  no such run on this thread */
export async function getRun({ db }: Pick<Runs, "db">, { caller, threadId, runId }: NamedRun): Promise<RunRow> {
  const { filter } = await caller.authorize("threads:read", { thread_id: threadId, run_id: runId })
  const run = await findRun(db, threadId, runId, filter)
  if (!run) throw runNotFound(runId)
  return run
}

/**
 * Joins a run's stream, wherever it executes. Without `after` the subscriber gets what comes from now on; with it, and
 * when the run is resumable, everything after that event first; when it is not, it is told whether it missed events. A run
 * that is over gives one `end`.
 * @throws NotFound  no such run on this thread
 */
export async function joinRun(runs: Runs, joining: Joining): Promise<void> {
  const { threadId, runId, subscriber, after } = joining
  const run = await getRun(runs, joining)
  const { db, streams } = runs
  const past = run.is_resumable ? after : undefined
  await withSubscriber(runs, runId, subscriber, {
    subscribe: async () => {
      if (past !== undefined) return streams.replay(runId, subscriber, past)
      streams.subscribe(runId, subscriber, { lastSeen: after === -1 ? undefined : after })
      return true
    },
    onOver: async (status) => {
      if (past === undefined) return streams.endSubscriber(runId, subscriber, status)
      const error = (await findRun(db, threadId, runId))?.error ?? undefined
      await streams.endReader(subscriber, { runId, after: past, status, error })
    },
  })
}

export interface Joining extends NamedRun {
  readonly subscriber: Subscriber
  readonly after: number | undefined
}

/**
 * The thread of a run, for those who know only the run.
 * @throws NotFound  no such run
 */
export async function threadOfRun({ db }: Pick<Runs, "db">, runId: string): Promise<string> {
  const threadId = await findThreadId(db, runId)
  if (threadId === undefined) throw runNotFound(runId)
  return threadId
}

interface Subscription {
  /** @returns false when the subscriber was ended already */
  readonly subscribe: () => Promise<boolean>
  /** The run is over: ends the subscriber. */
  readonly onOver: (status: string) => Promise<void>
}

/** Subscribes, then follows the run wherever it executes; whatever fails, nobody stays subscribed. */
async function withSubscriber(
  runs: Runs,
  runId: string,
  subscriber: Subscriber,
  { subscribe, onOver }: Subscription,
): Promise<void> {
  const { streams } = runs
  try {
    if (!(await subscribe())) return
    const status = await followElsewhere(runs, runId)
    if (status !== undefined) await onOver(status)
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
export async function cancelRun(runs: Runs, request: CancelRequest): Promise<void> {
  await requireMayStop(runs, request)
  await stopRun(runs, request)
}

/**
 * Asks whether a caller may stop a run.
 * @throws NotFound   it may not see the run's thread
 * @throws Forbidden  a rule of the project says no
 */
export async function requireMayStop(
  { db }: Pick<Runs, "db">,
  { caller, threadId, runId, action }: NamedRun & Pick<Stop, "action">,
): Promise<void> {
  const asked = { thread_id: threadId, action, metadata: { run_ids: [runId] } }
  const { filter } = await caller.authorize("threads:update", asked)
  if (filter !== undefined && !(await isThreadVisible(db, threadId, filter))) throw runNotFound(runId)
}

export interface CancelRequest extends Stop, NamedRun {}

export interface Stop {
  readonly threadId: string
  readonly runId: string
  readonly action: CancelAction
  readonly wait: boolean
  /** What clients are told of why it was stopped. */
  readonly reason?: string
  /** Ends the waiting: the client has left. */
  readonly signal?: AbortSignal
}

/** What `cancelRun` does once the caller may. */
export async function stopRun(runs: Runs, { threadId, runId, action, reason, wait, signal }: Stop): Promise<void> {
  const { db, streams } = runs
  const outcome = await cancelInDatabase(db, { threadId, runId, action, reason: reason ?? "a client cancelled it" })
  if (outcome === "none") throw runNotFound(runId)
  if (outcome === "stopped") await streams.announceEnd(runId, action === "rollback" ? "rollback" : "interrupted")
  if (wait) await waitForEnd(runs, runId, signal)
}

export const runNotFound = (runId: string) => new NotFound(`Run with ID ${runId} not found`)

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
    const onOver = async (status: string) => runs.streams.endSubscriber(runId, subscriber, status)
    withSubscriber(runs, runId, subscriber, { subscribe, onOver }).catch(reject)
  })
}
