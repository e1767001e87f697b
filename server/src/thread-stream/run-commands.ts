/** Commands that create runs. */
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { parseJson } from "@superstep/toolkit/http/json"
import type { Context } from "hono"
import { callerOf } from "../http/caller-of.js"
import { createOnce, type RunRoutes } from "../runs/creating-routes.js"
import type { PathOf, Requirement, RunRequest } from "../runs/preparation.js"
import { commandOf } from "../runs/right-to-run.js"
import type { NewRunBody } from "../runs/schema.js"
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

/** While this run was prepared, another client has answered, or a run has asked. */
class QuestionChanged extends Conflict {}

// Each round means that a question of this thread was asked or answered at the same moment.
const maxRounds = 10

/**
 * Starts a run. If the thread is interrupted, the input is the answer (protocol-v2 §1.4). If the question is answered by another client
 * before the run exists, the input is looked at again: an answer to nothing would be dropped by LangGraph. So is the input for a busy thread
 * whose run has asked by then: as an input it would drop the question. A thread that is deleted meanwhile is created anew.
 * @throws  the errors of `createRun`
 */
export async function startRun(runs: RunRoutes, request: CommandRequest): Promise<Executed> {
  const { input, multitaskStrategy, ...params } = parseParams(runStart, request.params)
  const body = {
    ...params,
    multitask_strategy: params.multitask_strategy ?? multitaskStrategy,
    if_not_exists: "create",
  } as const
  const isFork = hasCheckpoint(params.config)
  for (let round = 1, wasGone = false; ; round++) {
    let requires: Requirement | undefined
    const forThread = async (thread: ThreadRow | undefined) => {
      const answers = couldAnswer(input, isFork) && openInterrupts(thread).length > 0
      const mayAsk = thread?.status === "busy" && couldAnswer(input, isFork)
      requires = answers ? stillAsks(thread) : mayAsk ? asksNothing : undefined
      return { fields: answers ? { command: { resume: input } } : { input }, requires }
    }
    try {
      return await create(runs, request, body, { forThread, pathOf: startPathOf })
    } catch (error) {
      // A caller that may not see the thread gets the same error again.
      const isGone: boolean = error instanceof NotFound && requires !== undefined && !wasGone
      if (!(error instanceof QuestionChanged || isGone) || round === maxRounds) throw error
      wasGone ||= isGone
    }
  }
}

/** The input of the client became the run's input, or the answer in its command. */
const startPathOf: PathOf = (field, ...rest) =>
  field === "command" ? ["params", "input", ...rest.slice(1)] : ["params", field, ...rest]

const stillAsks =
  (before: ThreadRow | undefined): Requirement =>
  (thread) => {
    if (thread.interrupts === before?.interrupts && openInterrupts(thread).length > 0) return
    throw new QuestionChanged(changedOften, "thread_changed")
  }

const asksNothing: Requirement = (thread) => {
  if (openInterrupts(thread).length > 0) throw new QuestionChanged(changedOften, "thread_changed")
}

const changedOften = "the thread is being changed by many others: try again"

/** A run from an earlier checkpoint answers nothing. */
const hasCheckpoint = (config: NewRunBody["config"]): boolean => Boolean(config?.configurable?.checkpoint_id)

const couldAnswer = (input: unknown, isFork: boolean): boolean =>
  input !== undefined && input !== null && !isFork && !commandOf(input)

/** The ids of the interrupts that can be answered now; none while a run executes, or could. */
export function openInterrupts(thread: ThreadRow | undefined): string[] {
  if (thread?.status !== "interrupted") return []
  const byTask = parseJson(thread.interrupts) as Record<string, { id?: string }[]>
  return Object.values(byTask).flatMap((interrupts) => interrupts.map(({ id }) => id ?? ""))
}

/**
 * Answers open interrupts with a new run. A question may be answered before the run that asks it is over: then this waits for its end.
 * @throws CommandFailed  an interrupt is not open any more when the run is inserted, or nothing has run on the thread
 */
export async function respond(runs: RunRoutes, request: CommandRequest): Promise<Executed> {
  const { answers, update, goto, config, metadata, strict_resume } = parseParams(inputRespond, request.params)
  const interruptIds = answers.map(({ interrupt_id }) => interrupt_id)
  const { assistant_id, status } = await threadWithAssistant(runs, request)
  if (status === "busy") await untilAsked(runs, { threadId: request.threadId, interruptIds })
  const resume = Object.fromEntries(answers.map(({ interrupt_id, response }) => [interrupt_id, response ?? null]))
  const body: NewRunBody = {
    assistant_id,
    command: { resume, ...(update && { update }), ...(goto && { goto }) },
    config,
    metadata,
    strict_resume,
    // `reject` would count delayed runs. No other run is in flight when a question is open.
    multitask_strategy: "enqueue",
  }
  // Other clients may answer at the same time, so only the thread that is locked for the new run can tell.
  const requires: Requirement = (thread) => {
    const open = openInterrupts(thread)
    const others = interruptIds.filter((id) => !open.includes(id))
    if (others.length > 0) throw new CommandFailed("no_such_interrupt", notOpen(others))
  }
  const pathOf: PathOf = (field, part, id, ...rest) => {
    const answer =
      field === "command" && part === "resume" ? answers.find((each) => each.interrupt_id === id) : undefined
    const path = field === "command" ? [part, id, ...rest] : [field, part, id, ...rest]
    return ["params", ...(answer ? [...answer.path, ...rest] : path.filter((step) => step !== undefined))]
  }
  return { ...(await create(runs, request, body, { forThread: () => ({ requires }), pathOf })), result: {} }
}

const notOpen = (ids: readonly string[]) =>
  `No open interrupt of this thread has the id ${ids.join(", ")}: it was answered, or a run has started since.`

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

/** Creates a run like the REST routes, once for the key of its request. The thread is followed in the same transaction. */
export async function create(
  runs: RunRoutes,
  { c, bodyText, threadId }: CommandRequest,
  body: NewRunBody,
  { forThread, pathOf = inParams }: Pick<RunRequest, "forThread" | "pathOf"> = {},
): Promise<Executed & { readonly result: { readonly run_id: string } }> {
  // Nothing of the new run is before this place, so no client skips any of it. It stays 0 when the request is a repeated one.
  let appliedThroughSeq = 0
  const onCreated = (placeBefore: number) => {
    appliedThroughSeq = Math.max(0, placeBefore)
  }
  const created = await createOnce(
    runs,
    { c, bodyText, threadId },
    { body, forThread, pathOf, protocolClient: { onCreated } },
  ).catch((error: unknown) => {
    if (error instanceof Conflict && error.code === "thread_busy")
      throw new CommandFailed("invalid_argument", error.message)
    throw error
  })
  const run_id = "row" in created ? created.row.run_id : (parseJson(created.answer.body) as { run_id: string }).run_id
  return { result: { run_id }, appliedThroughSeq }
}

const inParams: PathOf = (...path) => ["params", ...path]
