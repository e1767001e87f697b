/** The operations of A2A on an assistant. A task is a run, its context is a thread (agent-server-api §11). */
import type { Db } from "@superstep/toolkit/db/database"
import { InvalidInput, NotFound } from "@superstep/toolkit/errors/errors"
import { toJsonText } from "@superstep/toolkit/http/json"
import { v7 as uuidv7 } from "uuid"
import type { AssistantRow } from "../assistants/assistant.js"
import { type AssistantGraphs, getSchemas } from "../assistants/graph-operations.js"
import type { Caller } from "../auth/caller.js"
import type { Subscriber } from "../events/topic.js"
import { uuid } from "../http/parameters.js"
import { createRun } from "../runs/creation.js"
import { cancelRun, type Runs } from "../runs/operations.js"
import type { PathOf } from "../runs/preparation.js"
import { findThreadId, type RunRow } from "../runs/queries.js"
import { newRun } from "../runs/schema.js"
import { getThread } from "../threads/operations.js"
import type { ThreadRow } from "../threads/thread.js"
import { findTaskIds, findTaskRun, taskKey } from "./queries.js"
import { inputOf, resumeOf, type SendParams } from "./request.js"
import { type TaskRun, taskOf } from "./task.js"
import { codes, isFinal, RpcError, type Task } from "./wire.js"

export type A2aParts = Runs &
  AssistantGraphs & {
    /** The request headers that the graph receives as `configurable`. None unless the project configures them. */
    readonly configurableHeaders?: ((headers: Headers) => Readonly<Record<string, string>>) | undefined
  }

/** One A2A request: its caller, the assistant, and the HTTP headers. */
export interface Asking {
  readonly caller: Caller
  readonly assistant: AssistantRow
  /** The project decides which of them the graph receives. */
  readonly headers: Headers
}

export interface StartedTask {
  readonly taskId: string
  readonly run: RunRow
}

/**
 * Starts a task, or answers a task in state `input-required`.
 * @param subscriber  receives all events of the run
 * @throws RpcError   an id is invalid, the task is final or running, or the graph does not accept such parts
 */
export async function startTask(
  parts: A2aParts,
  asking: Asking,
  params: SendParams,
  subscriber: Subscriber,
): Promise<StartedTask> {
  const { caller, assistant, headers } = asking
  const { contextId, taskId } = params.message
  const before = taskId ? await requireTask(parts, asking, taskId) : undefined
  if (before && contextId && before.contextId !== contextId) throw taskNotFound(before.id)
  if (before) requireQuestion(before)
  const work = before
    ? { command: { resume: resumeOf(params) }, metadata: { [taskKey]: before.id } }
    : { input: inputOf(params, await takesMessages(parts, asking)) }
  const body = newRun.safeParse({
    assistant_id: assistant.assistant_id,
    context: params.context,
    stream_mode: ["messages-tuple"],
    if_not_exists: "create",
    ...work,
  })
  if (!body.success) throw new RpcError(codes.invalidParams, body.error.issues.map(({ message }) => message).join("; "))
  const threadId = before?.contextId ?? threadIdOf(contextId)
  // Another client may answer the same question first.
  const requires =
    before &&
    (async (_thread: ThreadRow, tx: Db) => {
      const run = await findTaskRun(tx, before.id)
      if (!run) throw taskNotFound(before.id)
      requireQuestion(taskOf(before.id, run), before)
    })
  const pathOf: PathOf = (field, ...rest) => [
    "params",
    ...(field === "context" ? [field] : ["message", "parts", "data"]),
    ...rest,
  ]
  const call = { headers: parts.configurableHeaders?.(headers), subscriber, pathOf }
  const request = { caller, threadId, body: body.data, forThread: () => ({ requires }), ...call }
  const run = await createRun(parts, request).catch(asParams)
  return { taskId: before?.id ?? run.run_id, run }
}

/** @throws RpcError  the task asks nothing, or not the same as `before` */
function requireQuestion(task: Task, before = task): void {
  const { id, state } = task
  if (state !== "input-required")
    throw new RpcError(
      codes.unsupported,
      `task ${id} is ${state}: ${isFinal(state) ? "start a new one" : "wait for it"}`,
    )
  if (toJsonText(task.message?.parts) !== toJsonText(before.message?.parts))
    throw new RpcError(codes.unsupported, `task ${id} asks something else now: read its question first`)
}

function threadIdOf(contextId: string | null | undefined): string {
  if (!contextId) return uuidv7()
  const id = uuid.safeParse(contextId)
  if (id.success) return id.data
  throw new RpcError(codes.invalidParams, `Failed to create run: Invalid thread ID "${contextId}": expected a UUID`)
}

/** Translates invalid input into a JSON-RPC error "invalid params". */
function asParams(error: unknown): never {
  if (error instanceof InvalidInput || error instanceof NotFound) {
    throw new RpcError(codes.invalidParams, `Failed to create run: ${error.message}`)
  }
  throw error
}

/** Whether the graph's input has the field `messages`. A graph without an input schema counts as one that has it. */
async function takesMessages(parts: A2aParts, { caller, assistant }: Asking): Promise<boolean> {
  const { input_schema: schema } = await getSchemas(parts, caller, assistant.assistant_id)
  const properties = (schema as { properties?: object } | null | undefined)?.properties
  return properties === undefined || "messages" in properties
}

/** @throws RpcError  this assistant has no such task, or the caller may not see it */
export async function requireTask(parts: A2aParts, asking: Asking, taskId: string): Promise<Task> {
  return taskOf(taskId, await findTask(parts, asking, taskId))
}

async function findTask({ db }: A2aParts, { caller, assistant }: Asking, taskId: string): Promise<TaskRun> {
  const id = uuid.safeParse(taskId)
  const threadId = id.success ? await findThreadId(db, id.data) : undefined
  if (threadId === undefined) throw taskNotFound(taskId)
  const { filter } = await caller.authorize("threads:read", { thread_id: threadId })
  const run = await findTaskRun(db, taskId, filter)
  if (!run || run.assistant_id !== assistant.assistant_id) throw taskNotFound(taskId)
  return run
}

const taskNotFound = (taskId: string) => new RpcError(codes.taskNotFound, `Task ${taskId} not found`)

/** Cancels a task's run and waits for its end. @throws RpcError  no such task, or the task is final */
export async function cancelTask(parts: A2aParts, asking: Asking, taskId: string, signal: AbortSignal): Promise<Task> {
  const run = await findTask(parts, asking, taskId)
  if (!isStoppable(run)) {
    const { state } = taskOf(taskId, run)
    throw new RpcError(codes.taskNotCancelable, `task ${taskId} is ${state} and cannot be canceled`)
  }
  const ids = { threadId: run.thread_id, runId: run.run_id }
  await cancelRun(parts, { caller: asking.caller, ...ids, action: "interrupt", wait: true, signal }).catch((error) => {
    // The run was deleted after the task was found.
    throw error instanceof NotFound ? taskNotFound(taskId) : error
  })
  return requireTask(parts, asking, taskId)
}

const isStoppable = ({ status }: TaskRun): boolean => status === "pending" || status === "running"

export interface TaskListing {
  readonly contextId: string
  readonly limit: number
  readonly offset: number
}

/** The tasks of a context, newest first. @throws RpcError  no such context */
export async function listTasks(parts: A2aParts, asking: Asking, { contextId, limit, offset }: TaskListing) {
  const threadId = threadIdOf(contextId)
  await getThread(parts.db, asking.caller, threadId).catch(asParams)
  const page = { threadId, assistantId: asking.assistant.assistant_id, limit: limit + 1, offset }
  const ids = await findTaskIds(parts.db, page)
  const found = await Promise.all(ids.slice(0, limit).map((id) => taskIfThere(parts, asking, id)))
  const tasks = found.filter((task) => task !== undefined)
  // The thread may have been deleted after it was found.
  if (tasks.length === 0) await getThread(parts.db, asking.caller, threadId).catch(asParams)
  return { tasks, nextPageToken: ids.length > limit ? String(offset + limit) : "" }
}

/** @returns undefined for a task that was deleted after its id was read */
function taskIfThere(parts: A2aParts, asking: Asking, taskId: string): Promise<Task | undefined> {
  return requireTask(parts, asking, taskId).catch((error) => {
    if (error instanceof RpcError && error.rpcCode === codes.taskNotFound) return undefined
    throw error
  })
}
