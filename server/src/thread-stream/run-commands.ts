/** Commands that create runs. */
import { Conflict } from "@superstep/toolkit/errors/errors"
import type { Context } from "hono"
import { callerOf } from "../http/caller-of.js"
import { createOnce, type RunRoutes } from "../runs/creating-routes.js"
import type { RunRequest } from "../runs/preparation.js"
import { type NewRunBody, newRun } from "../runs/schema.js"
import { getThread } from "../threads/operations.js"
import type { ThreadRow } from "../threads/thread.js"
import { untilAsked } from "./asking-run.js"
import { CommandFailed, type Executed, parseParams } from "./command.js"
import { inputRespond, runStart, stateFork } from "./schema.js"

export interface CommandRequest {
  readonly c: Context
  readonly threadId: string
  readonly params: unknown
  /** The request's body, for the key of a repeated request; empty on a WebSocket. */
  readonly bodyText: string
}

/**
 * Starts a run. If the thread is interrupted, the input is the answer (protocol-v2 §1.4).
 * @throws  the errors of `createRun`
 */
export async function startRun(runs: RunRoutes, request: CommandRequest): Promise<Executed> {
  const { input, multitaskStrategy, ...params } = parseParams(runStart, request.params)
  const body = {
    ...params,
    multitask_strategy: params.multitask_strategy ?? multitaskStrategy,
    if_not_exists: "create",
  } as const
  return create(runs, request, body, (thread) => inputOrCommand(input, thread, hasCheckpoint(params.config)))
}

/** A run from an earlier checkpoint answers nothing. */
const hasCheckpoint = (config: NewRunBody["config"]): boolean => Boolean(config?.configurable?.checkpoint_id)

function inputOrCommand(input: unknown, thread: ThreadRow | undefined, isFork: boolean): Partial<NewRunBody> {
  const command = commandOf(input)
  if (command) return { command: parseParams(newRun.shape.command, command) }
  const isAnswer = input !== undefined && input !== null && !isFork && openInterrupts(thread).length > 0
  return isAnswer ? { command: { resume: input } } : { input }
}

/** LangGraph's `Command` as JSON: RemoteGraph sends it as the input. */
function commandOf(input: unknown): object | undefined {
  if (typeof input !== "object" || input === null || !("lg_name" in input) || input.lg_name !== "Command")
    return undefined
  const { lg_name: _, goto, ...fields } = input as { lg_name: string; goto?: unknown }
  const goesNowhere = goto === undefined || (Array.isArray(goto) && goto.length === 0)
  return { ...fields, ...(!goesNowhere && { goto }) }
}

/** The ids of the interrupts that can be answered now; none while a run executes. */
export function openInterrupts(thread: ThreadRow | undefined): string[] {
  if (thread?.status !== "interrupted") return []
  const byTask = JSON.parse(thread.interrupts) as Record<string, { id?: string }[]>
  return Object.values(byTask).flatMap((interrupts) => interrupts.map(({ id }) => id ?? ""))
}

const notInterrupted = () =>
  new CommandFailed("invalid_argument", "input.respond can only be used while the run is interrupted.")

/**
 * Answers open interrupts with a new run. A question may be answered before the run that asks it is over: then this waits for its end.
 * @throws CommandFailed  nothing is open, an interrupt is not open, or nothing has run on the thread
 */
export async function respond(runs: RunRoutes, request: CommandRequest): Promise<Executed> {
  const { answers, update, goto, config, metadata, strict_resume } = parseParams(inputRespond, request.params)
  const interruptIds = answers.map(({ interrupt_id }) => interrupt_id)
  const thread = await askingThread(runs, request, interruptIds)
  const open = openInterrupts(thread)
  if (open.length === 0) throw notInterrupted()
  const unknown = interruptIds.filter((id) => !open.includes(id))
  if (unknown.length > 0)
    throw new CommandFailed("no_such_interrupt", `No open interrupt of this thread has the id ${unknown.join(", ")}.`)
  const resume = Object.fromEntries(answers.map(({ interrupt_id, response }) => [interrupt_id, response ?? null]))
  const body: NewRunBody = {
    assistant_id: thread.assistant_id,
    command: { resume, ...(update && { update }), ...(goto && { goto }) },
    config,
    metadata,
    strict_resume,
    // Another client may answer at the same time: then the thread is not interrupted any more.
    multitask_strategy: "reject",
  }
  try {
    return { ...(await create(runs, request, body)), result: {} }
  } catch (error) {
    if (error instanceof Conflict && error.code === "thread_busy") throw notInterrupted()
    throw error
  }
}

/** The thread, as the run leaves it that asks these questions. @throws CommandFailed  nothing has run on the thread */
async function askingThread(runs: RunRoutes, request: CommandRequest, interruptIds: readonly string[]) {
  const thread = await threadWithAssistant(runs, request)
  if (thread.status !== "busy") return thread
  await untilAsked(runs, { caller: callerOf(request.c), threadId: request.threadId, interruptIds })
  return threadWithAssistant(runs, request)
}

/** Starts a run from an earlier checkpoint, with the assistant that ran last. */
export async function fork(runs: RunRoutes, request: CommandRequest): Promise<Executed> {
  const { checkpoint_id, input, config } = parseParams(stateFork, request.params)
  const { assistant_id } = await threadWithAssistant(runs, request)
  const { result, ...meta } = await create(runs, request, { assistant_id, checkpoint_id, input, config })
  return { ...meta, result: { ...result, thread_id: request.threadId } }
}

/** @throws CommandFailed  nothing has run on the thread */
export async function threadWithAssistant({ db }: RunRoutes, { c, threadId }: CommandRequest) {
  const thread = await getThread(db, callerOf(c), threadId)
  const { assistant_id } = thread
  if (assistant_id !== null) return { ...thread, assistant_id }
  throw new CommandFailed("no_such_run", "No run has started on this thread: call run.start first.")
}

/** Creates a run like the REST routes, once for the key of its request. The thread is watched in the same transaction. */
export async function create(
  runs: RunRoutes,
  { c, bodyText, threadId }: CommandRequest,
  body: NewRunBody,
  fieldsFor?: RunRequest["fieldsFor"],
): Promise<Executed & { readonly result: { readonly run_id: string } }> {
  // Nothing of the new run is before this place, so no client skips any of it. It stays 0 when the request is a repeated one.
  let appliedThroughSeq = 0
  const onCreated = (placeBefore: number) => {
    appliedThroughSeq = Math.max(0, placeBefore)
  }
  const created = await createOnce(runs, { c, bodyText, threadId }, { body, fieldsFor, follower: { onCreated } }).catch(
    (error: unknown) => {
      if (error instanceof Conflict && error.code === "thread_busy")
        throw new CommandFailed("invalid_argument", error.message)
      throw error
    },
  )
  const run_id = "row" in created ? created.row.run_id : (JSON.parse(created.answer.body) as { run_id: string }).run_id
  return { result: { run_id }, appliedThroughSeq }
}
