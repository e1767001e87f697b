/** The state of threads, which only their graphs can read and change. The rules (T1 …) are in this folder's README. */
import type { Person } from "@superstep/protocol/http/person"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict, InvalidInput, NotFound, Refused } from "@superstep/toolkit/errors/errors"
import { parseJson, RawJson, toJsonText } from "@superstep/toolkit/http/json"
import { printJson } from "@superstep/toolkit/http/json-printer"
import { namesOf, requireApproval } from "../acts/act.js"
import { insertAct } from "../acts/queries.js"
import type { Caller } from "../auth/caller.js"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import type { CheckpointTuple } from "../checkpoints/checkpoint.js"
import { findCheckpointBeside, hasCheckpoint, writeClaims } from "../checkpoints/queries.js"
import { describeTuple, linesOfTuple } from "../checkpoints/tuple-lines.js"
import { type GivenValue, requireHeld } from "../workers/held-numbers.js"
import { WorkerCallFailed } from "../workers/pending-calls.js"
import type { Reply, Workers } from "../workers/port.js"
import { graphConfig } from "./graph-config.js"
import { notFound, type Prepare } from "./operations.js"
import { findReadThread, findVersion, lockThread, readThread, setState, type ThreadVersion } from "./queries.js"
import { type ConfiguredThread, emptyStateOf, graphIdOf, type ReadThread, type ThreadRow } from "./thread.js"
import { type WorkedOut, workedOut } from "./worked-out.js"

export interface ThreadStates {
  readonly db: Database
  readonly workers: Workers
}

/** Selects one of a thread's states: the newest of a namespace, unless a checkpoint is named. */
export interface StatePlace {
  readonly checkpointId: string | undefined
  readonly checkpointNs: string
  readonly checkpointMap: Readonly<Record<string, string>> | undefined
}

export const newestState: StatePlace = { checkpointId: undefined, checkpointNs: "", checkpointMap: undefined }

/** Undefined selects every field of a ThreadState; `values.x` selects one value. */
type Select = readonly string[] | undefined

/**
 * The state of a thread, computed by its graph.
 * @returns a ThreadState: the worker's JSON, passed on unparsed
 * @throws NotFound  no such thread, or it has no such checkpoint
 */
export async function getThreadState(
  { db, workers }: ThreadStates,
  caller: Caller,
  threadId: string,
  { subgraphs, select, ...place }: StatePlace & { subgraphs: boolean; select: Select },
): Promise<RawJson | object> {
  const visible = await readableBy(caller, threadId)
  const reply = await askAgain(async () => {
    const { thread, checkpoint } = await readAt(db, threadId, place, visible)
    // Without the checkpoint that was asked for, the graph would return an empty state.
    if (place.checkpointId !== undefined && checkpoint === undefined) noCheckpoint(threadId, place.checkpointId)
    const graphId = readableGraphOf(thread, workers)
    if (graphId === undefined) return undefined
    const starting = isHead(place) ? startingRun(thread, checkpoint) : undefined
    const fields = {
      ...fieldsOf(graphId, threadId, place),
      subgraphs,
      ...(select && { select }),
      ...(starting !== undefined && { starting }),
      ...(checkpoint && { tuple: describeTuple(checkpoint) }),
    }
    const config = await graphConfig(db, thread, caller, placeOf(place))
    return workers.call("graph.state", fields, { config }, checkpoint ? linesOfTuple(checkpoint) : [])
  })
  if (reply === undefined) return emptyStateOf(select)
  const [state] = reply.payload
  if (!state) throw new Error("the worker's reply to graph.state has no state")
  return new RawJson(state.toString("utf8"))
}

const isHead = ({ checkpointId, checkpointNs }: StatePlace): boolean =>
  checkpointId === undefined && checkpointNs === ""

/** The run that will start next: the first that waits or executes and did not save the newest checkpoint. */
function startingRun({ in_flight }: ReadThread, head: CheckpointTuple | undefined): string | undefined {
  const { run_id: savedBy } = parseJson(head?.metadata ?? "{}") as { run_id?: unknown }
  return in_flight.find((runId) => runId !== savedBy)
}

const noStates = Buffer.from("[]")

export interface HistoryQuery extends StatePlace {
  readonly limit: number
  /** Only checkpoints older than this one. */
  readonly before: string | undefined
  /** What the metadata must contain. */
  readonly filter: Readonly<Record<string, unknown>> | undefined
  readonly select: Select
}

/**
 * The past states of a thread, newest first, computed by its graph; with a checkpoint's id, only the state at that checkpoint.
 * @returns a JSON list of ThreadStates: the worker's JSON, passed on unparsed
 */
export async function getThreadHistory(
  { db, workers }: ThreadStates,
  caller: Caller,
  threadId: string,
  { limit, before, filter, select, ...place }: HistoryQuery,
): Promise<RawJson | readonly []> {
  const visible = await readableBy(caller, threadId)
  const thread = (await findReadThread(db, threadId, visible)) ?? notFound(threadId)
  const graphId = readableGraphOf(thread, workers)
  if (graphId === undefined) return []
  const { checkpoint_id: _, ...fields } = fieldsOf(graphId, threadId, place)
  const asked = {
    ...fields,
    limit,
    ...(before !== undefined && { before }),
    ...(filter !== undefined && { filter }),
    ...(select && { select }),
  }
  const config = await graphConfig(db, thread, caller, placeOf(place))
  const { payload } = await askAgain(() => workers.call("graph.history", asked, { config }))
  const [states] = payload
  if (!states) throw new Error("the worker's reply to graph.history has no states")
  // The thread may have been deleted before its graph read the checkpoints.
  if (states.equals(noStates) && !(await findReadThread(db, threadId, visible))) notFound(threadId)
  return new RawJson(states.toString("utf8"))
}

/** One superstep's updates, as LangGraph's `bulkUpdateState` takes them. */
export interface Superstep {
  readonly updates: readonly {
    readonly values?: unknown
    readonly command?: object | null | undefined
    readonly as_node?: string | null | undefined
  }[]
}

// In each round one update commits. More concurrent updates than this are not expected in a conversation.
const maxRounds = 50

/**
 * Changes a thread's state as its graph would. The update is computed first, and committed if the thread has not changed
 * meanwhile (T1); else it is computed again, so concurrent updates are not lost.
 * @returns a reference to the new checkpoint
 * @throws NotFound      no such thread, or it has no such checkpoint
 * @throws Refused       the thread's graph is unknown
 * @throws Forbidden     the person may not approve
 * @throws Conflict      a run is pending or running (T1)
 * @throws InvalidInput  the graph rejects the update
 */
export async function updateThreadState(
  { db, workers }: ThreadStates,
  caller: Caller,
  threadId: string,
  { supersteps, ...place }: StatePlace & { supersteps: readonly Superstep[] },
): Promise<WorkedOut["checkpoint"]> {
  requireApproval(caller, "a change of a thread's state")
  const { filter } = await caller.authorize("threads:update", { thread_id: threadId, metadata: {} })
  const values = supersteps.flatMap(({ updates }) => updates.map((update) => update.values))
  const given = { path: ["body", "values"], value: values.length === 1 ? values[0] : values }
  for (let round = 0; round < maxRounds; round++) {
    const thread = (await findVersion(db, threadId, filter)) ?? notFound(threadId)
    requireIdle(thread)
    const graphId = graphIdOf(thread) ?? withoutGraph(threadId)
    await requireCheckpoint(db, threadId, place)
    const fields = fieldsOf(graphId, threadId, place)
    const config = await graphConfig(db, thread, caller, placeOf(place))
    const update = await workOut(workers, fields, config, supersteps, given)
    if (await commitUpdate(db, thread, update, { person: caller.seen?.person, changed: namesOf(values) }))
      return update.checkpoint
  }
  throw new Conflict(`thread ${threadId} is being changed by many others: try again`, "thread_changed")
}

/**
 * Computes the initial state of a new thread; when a superstep is rejected, no thread is created (T2).
 * @throws Refused  the metadata names no graph (agent-server-api §5.1)
 */
export const withState =
  ({ db, workers }: ThreadStates, caller: Caller, supersteps: readonly Superstep[]): Prepare =>
  async (threadId, metadata) => {
    requireApproval(caller, "a thread with a state")
    const nothingRan = { graph_id: null, assistant_id: null, config: "{}", last_run: null }
    const thread = { ...nothingRan, thread_id: threadId, metadata: toJsonText(metadata) }
    const graphId = graphIdOf(thread)
    if (graphId === undefined) return withoutGraph(threadId)
    const fields = fieldsOf(graphId, threadId, newestState)
    const config = await graphConfig(db, thread, caller, {})
    const update = await workOut(workers, fields, config, supersteps, {
      path: ["body", "supersteps"],
      value: supersteps,
    })
    return (tx) => write(tx, threadId, update)
  }

// A round fails only when the thread is pruned, or one of its runs deleted, during that round.
const maxReads = 5

/** Calls the graph of a thread; calls it again when the thread was pruned or deleted while the graph read it. */
async function askAgain<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let read = 1; ; read++) {
    try {
      return await ask()
    } catch (error) {
      const isGone = error instanceof WorkerCallFailed && error.error === "CheckpointGone"
      if (!isGone || read === maxReads) throw error
    }
  }
}

/** What a thread's metadata must match for the caller to read it. */
const readableBy = async (caller: Caller, threadId: string) =>
  (await caller.authorize("threads:read", { thread_id: threadId })).filter

/**
 * A thread with one of its checkpoints, in one snapshot (T7).
 * The checkpoint is sent with the call, so that the worker need not request it.
 * @throws NotFound  the caller sees no such thread
 */
async function readAt(
  db: Db,
  threadId: string,
  { checkpointId, checkpointNs }: StatePlace,
  visible: MetadataFilter | undefined,
) {
  const wanted = { threadId, checkpointNs, checkpointId }
  const { checkpoint, row } = await findCheckpointBeside<ReadThread>(db, wanted, readThread(threadId, visible))
  return { thread: row ?? notFound(threadId), checkpoint }
}

/** Clients may write an unknown graph into `metadata.graph_id`. If nothing ran on such a thread, it has no state. */
function readableGraphOf(thread: ConfiguredThread, workers: Workers): string | undefined {
  const graphId = graphIdOf(thread)
  if (thread.graph_id !== null || graphId === undefined) return graphId
  return workers.report().graphs.includes(graphId) ? graphId : undefined
}

const fieldsOf = (graphId: string, threadId: string, { checkpointId, checkpointNs }: StatePlace) => ({
  graph_id: graphId,
  thread_id: threadId,
  checkpoint_ns: checkpointNs,
  ...(checkpointId !== undefined && { checkpoint_id: checkpointId }),
})

const placeOf = ({ checkpointId, checkpointMap }: StatePlace) => ({
  ...(checkpointId !== undefined && { checkpoint_id: checkpointId }),
  ...(checkpointMap !== undefined && { checkpoint_map: checkpointMap }),
})

/** Without this check, the state at a missing checkpoint would be empty and look like a lost conversation. */
async function requireCheckpoint(db: Db, threadId: string, { checkpointId, checkpointNs }: StatePlace): Promise<void> {
  if (checkpointId === undefined || (await hasCheckpoint(db, { threadId, checkpointNs, checkpointId }))) return
  noCheckpoint(threadId, checkpointId)
}

function noCheckpoint(threadId: string, checkpointId: string): never {
  throw new NotFound(`Thread ${threadId} has no checkpoint ${checkpointId}`)
}

function requireIdle({ thread_id, is_busy }: ThreadVersion): void {
  if (is_busy) throw new Conflict(`Thread is busy: a run of thread ${thread_id} is pending or running`, "thread_busy")
}

const withoutGraph = (threadId: string): never => {
  throw new Refused(`Thread ${threadId} has no graph ID`, "no_graph")
}

// LangGraph's errors for an impossible update.
const refusals = ["InvalidUpdateError", "EmptyInputError"]

async function workOut(
  workers: Workers,
  fields: ReturnType<typeof fieldsOf>,
  config: string,
  supersteps: readonly Superstep[],
  given: GivenValue,
): Promise<WorkedOut> {
  const printed = printJson(supersteps)
  if (printed.hasExactNumbers) requireHeld(workers.report().languages?.get(fields.graph_id), [given])
  const payload = { config, supersteps: printed.text }
  let reply: Reply
  try {
    reply = await askAgain(() => workers.call("graph.update_state", fields, payload))
  } catch (error) {
    if (error instanceof WorkerCallFailed && refusals.includes(error.error)) throw new InvalidInput(error.message)
    throw error
  }
  return workedOut(fields.thread_id, reply)
}

/** @returns false when the thread or its state has changed since the update was computed (T1) */
const commitUpdate = (
  db: Database,
  { thread_id: threadId, version }: ThreadVersion,
  update: WorkedOut,
  by: { readonly person: Person | undefined; readonly changed: readonly string[] | undefined },
) =>
  db.transaction(async (tx) => {
    // Two statements: the second sees all changes that were made while the first waited for the lock.
    await lockThread(tx, threadId)
    const now = (await findVersion(tx, threadId)) ?? notFound(threadId)
    requireIdle(now)
    if (now.version !== version) return false
    await write(tx, threadId, update)
    const checkpointId = String(update.checkpoint.checkpoint_id)
    const { person } = by
    if (person) await insertAct(tx, { kind: "edit", person, threadId, of: { checkpointId }, changed: by.changed })
    return true
  })

async function write(tx: Db, threadId: string, { values, interrupts, writes }: WorkedOut): Promise<ThreadRow> {
  await writeClaims(tx, [{ fence: undefined, writes }])
  return (await setState(tx, threadId, { values, interrupts })) ?? notFound(threadId)
}
