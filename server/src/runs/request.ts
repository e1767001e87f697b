/** Turns a client's request into what is stored and executed. Pure. */
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import type { Assistant, Config } from "../assistants/assistant.js"
import type { User } from "../auth/caller.js"
import type { RunOrder } from "../workers/port.js"
import type { Claim, Kwargs } from "./run.js"
import type { NewRunBody } from "./schema.js"

/** What a thread adds to its runs. */
export interface ThreadDefaults {
  readonly metadata: Readonly<Record<string, unknown>>
  readonly config: Config
}

export interface RunIds {
  readonly runId: string
  readonly threadId: string
}

/** The parts of a request besides its body. */
export interface Origin {
  readonly user: User | undefined
  /** Headers that the project passes on to the graph (agent-server-api §13.4). */
  readonly headers: Readonly<Record<string, string>>
}

export interface Asked {
  readonly ids: RunIds
  readonly assistant: Assistant
  readonly thread: ThreadDefaults
  readonly body: NewRunBody
  readonly origin: Origin
  readonly isStateless: boolean
}

/** Later values win; the graph's and assistant's own ids win over everything (agent-server-api §2.8, §6.3). */
export function mergeMetadata(assistant: Assistant, thread: ThreadDefaults, body: NewRunBody): Record<string, unknown> {
  const { assistantId, graphId } = assistant
  return { ...assistant.metadata, ...thread.metadata, ...body.metadata, graph_id: graphId, assistant_id: assistantId }
}

export function mergeKwargs(asked: Asked): Kwargs {
  const { assistant, body, isStateless } = asked
  const modes = [body.stream_mode ?? []].flat()
  return {
    ...(body.input !== undefined && { input: body.input }),
    ...(body.command && { command: body.command }),
    config: mergeConfig(asked),
    context: mergeContext(assistant, body),
    // No mode and an empty list both mean the state after each step (decisions, agent server 3).
    stream_mode: modes.length === 0 ? ["values"] : [...new Set(modes)],
    ...(body.interrupt_before && { interrupt_before: body.interrupt_before }),
    ...(body.interrupt_after && { interrupt_after: body.interrupt_after }),
    ...(body.webhook && { webhook: body.webhook }),
    ...(body.feedback_keys && { feedback_keys: body.feedback_keys }),
    ...(body.strict_resume && { strict_resume: true }),
    durability: durabilityOf(body),
    temporary: isStateless,
    subgraphs: body.stream_subgraphs ?? false,
    resumable: body.stream_resumable ?? false,
  }
}

function mergeConfig({ ids, assistant, thread, body, origin }: Asked) {
  const { configurable, metadata, tags, recursion_limit, ...extra } = body.config ?? {}
  const given = { ...assistant.config.configurable, ...thread.config.configurable, ...configurable }
  return withoutAbsent({
    ...assistant.config,
    ...extra,
    tags: tags ?? assistant.config.tags,
    // Left undefined when neither sets it, so that a limit bound to the graph stays in force (agent-server-api §2.1).
    recursion_limit: recursion_limit ?? assistant.config.recursion_limit,
    configurable: {
      ...withoutReserved(withoutCheckpoint(given)),
      // Headers override the body.
      ...withoutReserved(withoutCheckpoint(origin.headers)),
      ...tracerOf(body),
      ...checkpointOf(body),
      run_id: ids.runId,
      thread_id: ids.threadId,
      graph_id: assistant.graphId,
      assistant_id: assistant.assistantId,
      ...userIdOf(given, origin),
    },
    metadata: { ...assistant.config.metadata, ...metadata, ...mergeMetadata(assistant, thread, body) },
  })
}

/**
 * The graph trusts these keys: they hold the caller's identity and LangGraph's internal values. A client can set neither.
 * They are not in `kwargs`, so readers of the run do not see them (agent-server-api §6.3).
 */
const isReserved = (key: string): boolean => key.startsWith("__") || key.startsWith("langgraph_auth_")

const withoutReserved = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => !isReserved(key)))

/** Only the request itself names the checkpoint to start from (`checkpointOf`). */
const withoutCheckpoint = ({
  checkpoint_id: _,
  checkpoint_ns: __,
  checkpoint_map: ___,
  ...fields
}: Readonly<Record<string, unknown>>): Record<string, unknown> => fields

/** The user id of the request, the thread or the assistant (merged before), or else that of the caller. */
function userIdOf({ user_id }: Readonly<Record<string, unknown>>, { user }: Origin): { user_id?: unknown } {
  const userId = user_id ?? user?.identity
  return userId === undefined ? {} : { user_id: userId }
}

const tracerOf = ({ langsmith_tracer: tracer }: NewRunBody): Record<string, unknown> =>
  withoutNull({ langsmith_project: tracer?.project_name, langsmith_example_id: tracer?.example_id })

/** The checkpoint to start from; it belongs to the run's own thread. */
export function checkpointOf({
  checkpoint,
  checkpoint_id,
  config,
}: Pick<NewRunBody, "checkpoint" | "checkpoint_id" | "config">): Record<string, unknown> {
  const { checkpoint_id: id, checkpoint_ns: ns, checkpoint_map: map } = config?.configurable ?? {}
  return withoutNull({
    checkpoint_id: checkpoint?.checkpoint_id ?? checkpoint_id ?? id,
    checkpoint_ns: checkpoint?.checkpoint_ns ?? ns,
    checkpoint_map: checkpoint?.checkpoint_map ?? map,
  })
}

/** Context may be given as `context` or, by older clients, as `configurable`; never the other way round (§2.2). */
function mergeContext(assistant: Assistant, { context, config }: NewRunBody): unknown {
  const asked = context ?? withoutReserved(config?.configurable ?? assistant.config.configurable ?? {})
  const inherited = assistant.context
  if (typeof inherited !== "object" || inherited === null) return context ?? inherited ?? asked
  return { ...inherited, ...asked }
}

function durabilityOf({ durability, checkpoint_during }: NewRunBody): Kwargs["durability"] {
  if (durability) return durability
  return checkpoint_during === false ? "exit" : "async"
}

const withoutAbsent = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

const withoutNull = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))

/**
 * Makes LangGraph reject answers that match no open interrupt; older versions ignore it.
 * @see `CONFIG_KEY_STRICT_RESUME` of LangGraph JS 1.7.0 and Python 1.2.22
 */
const strictResumeKey = "__pregel_strict_resume"

/** What a worker needs to execute a claimed run. */
export function orderOf(claim: Claim): RunOrder {
  const { kwargs } = claim
  const metadata = { ...kwargs.config.metadata, run_attempt: claim.attempt, langgraph_host: "self-hosted" }
  const caller = claim.caller === null ? {} : (parseJson(claim.caller) as Record<string, unknown>)
  const strictness = kwargs.strict_resume ? { [strictResumeKey]: true } : {}
  const configurable = { ...kwargs.config.configurable, ...caller, ...strictness }
  return {
    runId: claim.runId,
    claimId: claim.claimId,
    threadId: claim.threadId,
    attempt: claim.attempt,
    graphId: claim.graphId,
    streamModes: kwargs.stream_mode,
    streamSubgraphs: kwargs.subgraphs,
    durability: kwargs.durability,
    interruptBefore: kwargs.interrupt_before,
    interruptAfter: kwargs.interrupt_after,
    hasCheckpoint: claim.hasCheckpoint,
    ...(claim.commandSaved ? { commandSaved: claim.commandSaved } : {}),
    runsAlone: claim.runsAlone,
    input: textOf(kwargs.input),
    command: textOf(kwargs.command),
    config: toJsonText({ ...kwargs.config, configurable, metadata }),
    context: toJsonText(kwargs.context),
  }
}

/** An absent value and null both mean "continue from the checkpoint": the empty text. */
const textOf = (value: unknown): string => (value === undefined || value === null ? "" : toJsonText(value))
