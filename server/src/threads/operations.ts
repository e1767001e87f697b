import type { Database } from "@superstep/toolkit/db/database"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { RawJson } from "@superstep/toolkit/http/json"
import { v7 as uuidv7 } from "uuid"
import type { Workers } from "../workers/port.js"
import { findThread, insertThread } from "./queries.js"
import { emptyState, type ThreadRow } from "./thread.js"

/** @throws NotFound  in the Platform's words (agent-server-api §5.4) */
export async function getThread(db: Database, threadId: string): Promise<ThreadRow> {
  const thread = await findThread(db, threadId)
  if (!thread) throw new NotFound(`Thread with ID ${threadId} not found`)
  return thread
}

export interface ThreadRequest {
  readonly threadId: string | undefined
  readonly metadata: Readonly<Record<string, unknown>>
  readonly ifExists: "raise" | "do_nothing"
}

/**
 * Makes a thread, or gives the one that is there unchanged when the caller allows it.
 * @throws Conflict  when the id is taken and `ifExists` is `raise`
 */
export async function createThread(db: Database, request: ThreadRequest): Promise<ThreadRow> {
  const threadId = request.threadId ?? uuidv7()
  const created = await insertThread(db, threadId, JSON.stringify(request.metadata))
  if (created) return created
  if (request.ifExists === "raise") throw new Conflict("Thread already exists", "thread_exists")
  return getThread(db, threadId)
}

/**
 * The latest state of a thread, computed by its graph.
 * @returns a ThreadState: the worker's JSON, passed on unparsed
 */
export async function getThreadState(
  { db, workers }: { db: Database; workers: Workers },
  threadId: string,
  { subgraphs }: { subgraphs: boolean },
): Promise<RawJson | typeof emptyState> {
  const thread = await getThread(db, threadId)
  if (thread.graph_id === null) return emptyState
  const fields = { graph_id: thread.graph_id, thread_id: threadId, checkpoint_ns: "", subgraphs }
  const { payload } = await workers.call("graph.state", fields, { config: thread.config })
  const [state] = payload
  if (!state) throw new Error("the worker's reply to graph.state has no state")
  return new RawJson(state.toString("utf8"))
}

export interface HistoryQuery {
  readonly limit: number
  /** Only checkpoints older than this one. */
  readonly before: string | undefined
  /** What the metadata must hold. */
  readonly filter: Readonly<Record<string, unknown>> | undefined
  readonly checkpointNs: string
}

/**
 * The past states of a thread, newest first, computed by its graph.
 * @returns a JSON list of ThreadStates: the worker's JSON, passed on unparsed
 */
export async function getThreadHistory(
  { db, workers }: { db: Database; workers: Workers },
  threadId: string,
  { limit, before, filter, checkpointNs }: HistoryQuery,
): Promise<RawJson | readonly []> {
  const thread = await getThread(db, threadId)
  if (thread.graph_id === null) return []
  const fields = {
    graph_id: thread.graph_id,
    thread_id: threadId,
    checkpoint_ns: checkpointNs,
    limit,
    ...(before !== undefined && { before }),
    ...(filter !== undefined && { filter }),
  }
  const { payload } = await workers.call("graph.history", fields, { config: thread.config })
  const [states] = payload
  if (!states) throw new Error("the worker's reply to graph.history has no states")
  return new RawJson(states.toString("utf8"))
}
