/**
 * Runs are created in three steps: they are planned (`preparation.ts`), begun in the database, and started where possible.
 *
 * A plan is made from what this server knows of the assistant and the thread. `begin_run` compares that; when it is out of date, the plan is made
 * anew. The commit comes before a run starts, and nothing that happens afterwards may fail the request, since the runs exist.
 * Several runs, or a condition on the thread, need a transaction; one plain run is one statement.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { isSqlState, sqlState } from "@superstep/toolkit/db/database"
import { Conflict, NotFound, TooManyRequests } from "@superstep/toolkit/errors/errors"
import { toJsonText } from "@superstep/toolkit/http/json"
import { insertAct } from "../acts/queries.js"
import { firstEvents } from "../events/added-events.js"
import { firstSeq } from "../events/event.js"
import type { AppendedEvents } from "../events/queries.js"
import type { Subscriber } from "../events/topic.js"
import type { Runs } from "./parts.js"
import { planRun, type RunPlan, type RunRequest, requireOfThread, runIdTaken, StalePlan } from "./preparation.js"
import {
  beginRun,
  type CreatedRun,
  findUnsavedInputs,
  isThreadVisible,
  type NewRun,
  type ProtocolFollowing,
  type RunRow,
} from "./queries.js"
import { answeredInterrupts } from "./resume.js"
import type { Turn } from "./turns.js"

/** A run that was inserted. */
export interface InsertedRun {
  readonly plan: RunPlan
  readonly created: CreatedRun
  readonly row: RunRow
  /** Its first events, when they were committed with it. */
  readonly firstLogged: AppendedEvents | undefined
}

/**
 * Opens a transaction, inserts the runs in it, and returns the result of `insert`; undefined when that is not needed, because the same request
 * was answered before. When it throws, no run was created.
 */
export type InsertWithin = (
  insert: (tx: Db) => Promise<readonly InsertedRun[]>,
) => Promise<readonly InsertedRun[] | undefined>

export interface Creating {
  /** Gets the events of the first run, from its first event on. */
  readonly subscriber?: Subscriber | undefined
  /** The request's turn in the queue of its thread, if it was already taken. */
  readonly turn?: Turn | undefined
  /** Clients of the newer streaming protocol follow the run's thread from now on. */
  readonly protocolClient?: ProtocolClient | undefined
  /** Runs the insertion in a transaction that also commits other data, such as the key of the request. */
  readonly within?: InsertWithin | undefined
}

export interface ProtocolClient {
  /** Called when the run exists, with the place of the thread's last event before it; -1 for none. */
  readonly onCreated: (placeBefore: number) => void
}

/**
 * Creates a run. It starts at once when this server has a free slot and its thread has no run in flight; else it waits in
 * the queue. The subscriber is added before the run can start, so it misses nothing.
 * @throws NotFound  no such assistant, or no such thread and the request does not create one
 * @throws Conflict  the thread is busy and the strategy is `reject`, or the run's id is taken
 */
export async function createRun(
  runs: Runs,
  { subscriber, within, ...request }: RunRequest & Pick<Creating, "subscriber" | "within">,
): Promise<RunRow> {
  const [row] = (await createRuns(runs, [request], { subscriber, within })) ?? []
  if (!row) throw new Error("a run that was created has no row")
  return row
}

// Each round means that the assistant or the thread was changed at the same moment.
const maxRounds = 10

/**
 * Creates all of the runs or none, in order.
 * @returns undefined when `within` has not created them
 * @throws  the errors of `createRun` and of `within`
 */
export async function createRuns(
  runs: Runs,
  requests: readonly RunRequest[],
  creating: Creating = {},
): Promise<readonly RunRow[] | undefined> {
  // Several runs at once are stateless, so each has its own thread.
  const [{ threadId } = { threadId: undefined }] = requests
  const turn = creating.turn ?? (threadId === undefined ? undefined : runs.turns.take(threadId))
  try {
    for (let round = 1; ; round++) {
      try {
        const isAgain = round > 1
        const plans = await Promise.all(requests.map((request) => planRun(runs, request, { isAgain })))
        return await beginRuns(runs, plans, { ...creating, turn })
      } catch (error) {
        if (!(error instanceof StalePlan) || round === maxRounds) throw error
      }
    }
  } finally {
    turn?.end()
  }
}

/** Inserts all runs or none, and starts those that can start. @throws StalePlan  they must be planned anew */
async function beginRuns(
  runs: Runs,
  plans: readonly RunPlan[],
  { subscriber, turn, protocolClient, within = inOwnTransaction(runs.db, plans) }: Creating,
): Promise<readonly RunRow[] | undefined> {
  const { streams, executor } = runs
  await turn?.come()
  const first = plans[0]?.run.runId ?? ""
  const slots = plans.map(({ run }) => executor.reserve(run.graphId))
  if (subscriber) streams.runs.subscribe(first, subscriber)
  const leave = () => {
    for (const giveBack of slots) giveBack?.()
    if (subscriber) streams.runs.unsubscribe(first, subscriber)
  }
  try {
    const isStreamed = subscriber !== undefined
    const insertions = plans.map((plan, n) => ({
      plan,
      canExecute: slots[n] !== undefined,
      isStreamed,
      following: protocolClient && { forMs: streams.followed.ttlMs, firstEvents: firstEventsOf(plan) },
    }))
    const inserted = await within((tx) => insertEach(tx, insertions))
    if (inserted === undefined) {
      leave()
      return undefined
    }
    turn?.end()
    for (const [n, each] of inserted.entries()) {
      // `startOrQueue` takes the slot in the same tick, so that no other run can take it.
      slots[n]?.()
      if (protocolClient) streams.followed.noteProtocolClient(each.row.thread_id)
      await startOrQueue(runs, each, isStreamed)
      protocolClient?.onCreated(each.created.place_before ?? -1)
    }
    return inserted.map(({ row }) => row)
  } catch (error) {
    leave()
    throw error
  }
}

const inOwnTransaction =
  (db: Runs["db"], plans: readonly RunPlan[]): InsertWithin =>
  (insert) => {
    const isPlain = plans.length === 1 && plans.every(isUnconditional)
    return isPlain ? insert(db) : db.transaction(insert)
  }

const isUnconditional = ({ filter, requires, startsFrom, act }: RunPlan): boolean =>
  filter === undefined && requires === undefined && startsFrom === undefined && act === undefined

/** The events that the run begins with when it starts at once. */
const firstEventsOf = ({ run: { runId, graphId }, kwargs }: RunPlan) =>
  firstEvents({ runId, graphId, attempt: 1 }, { answered: answeredInterrupts(kwargs), hasProtocolEvents: true }).map(
    ({ event, data }, n) => ({ seq: firstSeq(1) + n, event, data }),
  )

interface Insertion extends Pick<NewRun, "canExecute" | "isStreamed" | "following"> {
  readonly plan: RunPlan
}

async function insertEach(db: Db, insertions: readonly Insertion[]): Promise<readonly InsertedRun[]> {
  const inserted: InsertedRun[] = []
  for (const { plan, ...options } of insertions) {
    const { run, filter } = plan
    await requireOfThread(db, plan)
    const created = await beginRun(db, { ...run, ...options }).catch((error: unknown) => {
      if (!isSqlState(error, sqlState.uniqueViolation, "runs_pkey")) throw error
      throw runIdTaken(run.runId)
    })
    if (created.outcome === "stale") throw new StalePlan()
    const isHidden =
      filter !== undefined &&
      created.outcome !== "no_thread" &&
      !(await isThreadVisible(db, run.threadId, filter, { orNew: true }))
    if (created.outcome === "no_thread" || isHidden) throw new NotFound(`Thread with ID ${run.threadId} not found`)
    if (created.outcome === "thread_busy") throw new Conflict(busyText, "thread_busy")
    if (created.outcome === "thread_full") {
      const waits = `${run.mostWaiting} runs wait on this thread: come back when some of them are over`
      throw new TooManyRequests(waits, retryMs)
    }
    if (plan.act) await insertAct(db, plan.act)
    inserted.push({
      plan,
      created,
      row: rowOf(plan, created),
      firstLogged: firstLoggedOf(created, options.following, run.runId),
    })
  }
  return inserted
}

/** The first events that were committed with a run; undefined when there are none. */
function firstLoggedOf(
  { places, place_before: after }: CreatedRun,
  following: ProtocolFollowing | undefined,
  runId: string,
): AppendedEvents | undefined {
  if (!places || !following || typeof after !== "number") return undefined
  const events = following.firstEvents.map((event, n) => ({ ...event, runId, place: Number(places[n]) }))
  return { after, events }
}

// A run usually takes seconds, so after this time there is usually room.
const retryMs = 5000

// The message that the JS server's tests and clients expect (decisions, agent server 2).
const busyText = "Thread is already running a task. Wait for it to finish or choose a different multitask strategy."

/** Executes a run that was claimed when it was inserted, and wakes who must act on another. A failure must not fail the request: the run exists. */
async function startOrQueue(
  { db, streams, executor, peers, hints, log }: Runs,
  { plan: { run, kwargs }, created, firstLogged }: InsertedRun,
  isStreamed: boolean,
): Promise<void> {
  const { runId } = run
  if (created.claim_id) {
    const {
      claim_id: claimId,
      has_checkpoint: hasCheckpoint,
      followed_ms: followedMs,
      protocol_ms: protocolMs,
    } = created
    const { deleteThreadOnCompletion: deletesThread } = run
    const others = { attempt: 1, runsAlone: false, watchedBy: [], hasWebhook: run.webhook !== null }
    executor.execute(
      { ...run, kwargs, claimId, hasCheckpoint, deletesThread, followedMs, protocolMs, ...others },
      firstLogged,
    )
  }
  if (created.stopping) peers.stopRun(created.stopping)
  if (created.waiting) peers.runWaits(created.waiting)
  if (created.stopped.length > 0) hints.send("webhooks_due")
  try {
    // Another server may claim the run now, and this client needs all its logged events.
    if (!created.claim_id && isStreamed) await streams.runs.tail(runId, -1)
    const status = run.multitaskStrategy === "rollback" ? "rollback" : "interrupted"
    const unsaved = created.stopped.length === 0 ? [] : await findUnsavedInputs(db, created.stopped)
    for (const stopped of created.stopped) {
      await streams.announceEnd(stopped, status, { threadId: run.threadId, isUnsaved: unsaved.includes(stopped) })
    }
  } catch (err) {
    log.error({ err, run_id: runId }, "clients could not be notified of a new run")
  }
}

const rowOf = ({ run, act }: RunPlan, created: CreatedRun): RunRow => ({
  run_id: run.runId,
  thread_id: run.threadId,
  assistant_id: run.assistantId,
  status: "pending",
  attempt: created.claim_id ? 1 : 0,
  metadata: run.metadata,
  kwargs: run.kwargs,
  error: null,
  input_saved: null,
  created_by: act ? toJsonText(act.person) : null,
  multitask_strategy: run.multitaskStrategy,
  is_resumable: run.isResumable,
  cancel_reason: null,
  created_at: created.created_at,
  updated_at: created.created_at,
})
