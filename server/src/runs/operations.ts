/** Operations on runs that exist: joining, stopping, waiting. */
import { NotFound } from "@superstep/toolkit/errors/errors"
import { requireApproval } from "../acts/act.js"
import { recordedDeletion } from "../acts/deletions.js"
import { anyone, type Caller } from "../auth/caller.js"
import { LastEvents } from "../events/event.js"
import { lastLoggedEvent } from "../events/queries.js"
import type { EndOfRun } from "../events/streams.js"
import type { Subscriber } from "../events/topic.js"
import type { Runs } from "./parts.js"
import {
  findRun,
  findThreadId,
  findUnsavedInputs,
  isThreadVisible,
  type RunRow,
  type StoppedRun,
  stopRun as stopInDatabase,
} from "./queries.js"
import type { CancelAction } from "./run.js"
import { tailElsewhere } from "./tail-elsewhere.js"

export type { Runs } from "./parts.js"

/** A run that a caller refers to. */
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
 * Joins a run's stream, wherever it executes. Without `after` the subscriber gets events from now on. With `after`, it first
 * gets all events after that one if the run is resumable; if not, it is notified when it missed events. For a run that is
 * over it gets one `end`.
 * @throws NotFound  no such run on this thread
 */
export async function joinRun(runs: Runs, joining: Joining): Promise<void> {
  const { threadId, runId, subscriber, after, wantsAll = false } = joining
  const run = await getRun(runs, joining)
  const { db, streams } = runs
  const past = run.is_resumable ? after : undefined
  await withSubscriber(runs, runId, subscriber, {
    subscribe: async () => {
      if (past !== undefined)
        return streams.runs.replay(runId, subscriber, { place: past, last: LastEvents.upTo({ runId, seq: past }) })
      streams.runs.subscribe(runId, subscriber, { lastSeen: after === -1 && !wantsAll ? undefined : after })
      return true
    },
    onOver: async (ended) => {
      if (isGone(ended)) await requireTrace(runs, { runId, subscriber, past })
      if (past === undefined) return streams.endSubscriber(runId, subscriber, ended)
      const error = (await findRun(db, threadId, runId))?.error ?? undefined
      await streams.endReader(subscriber, { runId, after: past, error, ...ended })
    },
  })
}

// `tailElsewhere` says this of a run that has no row.
const isGone = ({ status }: EndOfRun): boolean => status === "rollback"

interface Joined {
  readonly runId: string
  readonly subscriber: Subscriber
  /** The last event that a client has which reads the log. */
  readonly past: number | undefined
}

/**
 * A run that was found may be removed before it is joined. Its client is not told of an end that nobody has seen.
 * @throws NotFound  unless the subscriber has got its end, or finds it in the log
 */
async function requireTrace({ db, streams }: Runs, { runId, subscriber, past }: Joined): Promise<void> {
  const isWaiting = streams.runs.get(runId)?.has(subscriber) === true
  const isLogged = past !== undefined && (await lastLoggedEvent(db, runId)) !== undefined
  if (isWaiting && !isLogged) throw runNotFound(runId)
}

export interface Joining extends NamedRun {
  readonly subscriber: Subscriber
  readonly after: number | undefined
  /** The client expects the run from its first event on, and is notified when it missed some. */
  readonly wantsAll?: boolean
}

/**
 * The thread of a run, for callers that know only the run's id.
 * @throws NotFound  no such run
 */
export async function threadOfRun({ db }: Pick<Runs, "db">, runId: string): Promise<string> {
  const threadId = await findThreadId(db, runId)
  if (threadId === undefined) throw runNotFound(runId)
  return threadId
}

interface Subscription {
  /** @returns false when the subscriber has already been ended */
  readonly subscribe: () => Promise<boolean>
  /** Called when the run is over: ends the subscriber. */
  readonly onOver: (ended: EndOfRun) => Promise<void>
}

/** Subscribes, then makes sure that events come, wherever the run executes. On a failure the subscriber is removed. */
async function withSubscriber(
  runs: Runs,
  runId: string,
  subscriber: Subscriber,
  { subscribe, onOver }: Subscription,
): Promise<void> {
  const { streams } = runs
  try {
    if (!(await subscribe())) return
    const ended = await tailElsewhere(runs, runId)
    if (ended !== undefined) await onOver(ended)
  } catch (error) {
    streams.runs.unsubscribe(runId, subscriber)
    throw error
  }
}

/**
 * Stops a run: a waiting run ends at once, an executing run is asked to stop. `rollback` also removes the run and what it
 * wrote. A run that is already over stays as it is.
 * @returns when the request is recorded; with `wait`, when the run is over
 * @throws NotFound  no such run on this thread
 */
export async function cancelRun(runs: Runs, request: CancelRequest): Promise<void> {
  await requireMayStop(runs, request)
  await stopRun(runs, { ...request, by: request.caller })
}

/**
 * Checks whether a caller may stop a run.
 * @throws NotFound   the caller may not see the run's thread
 * @throws Forbidden  a rule of the project forbids it, or it is a rollback and the person may not approve
 */
export async function requireMayStop(
  { db }: Pick<Runs, "db">,
  { caller, threadId, runId, action }: NamedRun & Pick<Stop, "action">,
): Promise<void> {
  if (action === "rollback") requireApproval(caller, "a rollback")
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
  /** The reason that clients see. */
  readonly reason?: string
  /** Who asks, where somebody does: a rollback is recorded as the deletion of the run. */
  readonly by?: Caller
  /** Ends the waiting when the client has disconnected. */
  readonly signal?: AbortSignal
}

/** Like `cancelRun`, without the check of access rules. */
export async function stopRun(runs: Runs, stop: Stop): Promise<void> {
  const { threadId, runId, action, reason, by = anyone, wait, signal } = stop
  const { db, streams, peers, hints } = runs
  const why = reason ?? "a client cancelled it"
  const { outcome, stopping, waiting } = await recordedDeletion(
    db,
    by,
    (tx) => stopInDatabase(tx, { threadId, runId, action, reason: why }),
    (it) => (action === "rollback" && isStopped(it.outcome) ? [{ type: "run", id: runId, threadId }] : []),
  )
  if (outcome === "none") throw runNotFound(runId)
  if (stopping) peers.stopRun(stopping)
  if (waiting) peers.runWaits(waiting)
  if (outcome === "stopped") hints.send("webhooks_due")
  if (outcome === "stopped") {
    const isUnsaved = (await findUnsavedInputs(db, [runId])).length > 0
    await streams.announceEnd(runId, action === "rollback" ? "rollback" : "interrupted", { threadId, isUnsaved })
  }
  if (wait) await waitForEnd(runs, runId, signal)
}

const isStopped = (outcome: StoppedRun["outcome"]): boolean => outcome === "stopped" || outcome === "stopping"

export const runNotFound = (runId: string) => new NotFound(`Run with ID ${runId} not found`)

/** Resolves when the run is over or gone, wherever it executes, or when the signal is aborted. */
export async function waitForEnd(runs: Runs, runId: string, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return
  await new Promise<void>((resolve, reject) => {
    const subscriber: Subscriber = { accepts: () => false, write: () => undefined, end: resolve }
    const leave = () => {
      runs.streams.runs.unsubscribe(runId, subscriber)
      resolve()
    }
    signal?.addEventListener("abort", leave, { once: true })
    const subscribe = async () => {
      runs.streams.runs.subscribe(runId, subscriber)
      return true
    }
    const onOver = async (ended: EndOfRun) => runs.streams.endSubscriber(runId, subscriber, ended)
    withSubscriber(runs, runId, subscriber, { subscribe, onOver }).catch(reject)
  })
}

export interface Leaving {
  readonly threadId: string
  readonly runId: string
  readonly subscriber: Subscriber
  /** The client asked that the run be cancelled when it disconnects. */
  readonly cancel: boolean
}

/** Removes a client that disconnects, and cancels its run if the client asked for that; a failure is logged. */
export function leaveRun(runs: Runs, { threadId, runId, subscriber, cancel }: Leaving): void {
  runs.streams.runs.unsubscribe(runId, subscriber)
  if (!cancel) return
  const reason = "its client disconnected"
  stopRun(runs, { threadId, runId, action: "interrupt", wait: false, reason }).catch((err: unknown) =>
    runs.log.warn({ err, run_id: runId }, "the run of a disconnected client could not be cancelled"),
  )
}
