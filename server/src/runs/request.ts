/** From what a client asked for to what is stored and executed. Pure. */
import type { Assistant, Config } from "../assistants/assistant.js"
import type { User } from "../auth/caller.js"
import type { RunOrder } from "../workers/port.js"
import type { Claim } from "./run.js"
import type { NewRunBody } from "./schema.js"

/** What the thread adds to a run on it. */
export interface ThreadDefaults {
  readonly metadata: Readonly<Record<string, unknown>>
  readonly config: Config
  /** Something of it is in flight, so that a new run may have to wait. */
  readonly isBusy?: boolean
}

export interface RunIds {
  readonly runId: string
  readonly threadId: string
}

/** What a request says besides its body. */
export interface Origin {
  readonly user: User | undefined
  /** Headers that the project lets through to the graph (agent-server-api §13.4). */
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

/** What a run was asked to do, merged with its assistant and thread: the `kwargs` of the Run resource. */
export interface Kwargs {
  readonly input?: unknown
  readonly command?: unknown
  readonly config: Config & Readonly<Record<string, unknown>>
  readonly context: unknown
  readonly stream_mode: readonly string[]
  readonly interrupt_before?: "*" | readonly string[]
  readonly interrupt_after?: "*" | readonly string[]
  readonly webhook?: string
  readonly feedback_keys?: readonly string[]
  readonly strict_resume?: true
  readonly durability: "sync" | "async" | "exit"
  readonly temporary: boolean
  readonly subgraphs: boolean
  readonly resumable: boolean
}

/** Later ones win; the thread's and run's own ids win over everything (agent-server-api §2.8, §6.3). */
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
    // Left out when nobody sets it, so that a limit bound to the graph survives (agent-server-api §2.1).
    recursion_limit: recursion_limit ?? assistant.config.recursion_limit,
    configurable: {
      ...withoutReserved(given),
      // No body may claim what a header must say, and no header says where a run begins.
      ...withoutReserved(origin.headers),
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
 * The graph trusts what is in these: who called, and LangGraph's own plumbing. A client can set neither, and what is not
 * in `kwargs` need not be taken out of it for those who read the run (agent-server-api §6.3).
 */
const isReserved = (key: string): boolean => key.startsWith("__") || key.startsWith("langgraph_auth_")

const withoutReserved = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => !isReserved(key)))

/** The first that is there: the request's, the thread's, the assistant's, and last that of who calls. */
function userIdOf({ user_id }: Readonly<Record<string, unknown>>, { user }: Origin): { user_id?: unknown } {
  const userId = user_id ?? user?.identity
  return userId === undefined ? {} : { user_id: userId }
}

const tracerOf = ({ langsmith_tracer: tracer }: NewRunBody): Record<string, unknown> =>
  withoutNull({ langsmith_project: tracer?.project_name, langsmith_example_id: tracer?.example_id })

/** The checkpoint to start from; the thread it names is the run's own. */
export function checkpointOf({ checkpoint, checkpoint_id, config }: NewRunBody): Record<string, unknown> {
  const { checkpoint_id: id, checkpoint_ns: ns, checkpoint_map: map } = config?.configurable ?? {}
  return withoutNull({
    checkpoint_id: checkpoint?.checkpoint_id ?? checkpoint_id ?? id,
    checkpoint_ns: checkpoint?.checkpoint_ns ?? ns,
    checkpoint_map: checkpoint?.checkpoint_map ?? map,
  })
}

/** Context may be given as such or, by older clients, as configurable; never the other way round (§2.2). */
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
 * How LangGraph is told to refuse answers that name no open question; older versions ignore it.
 * @see `CONFIG_KEY_STRICT_RESUME` of LangGraph JS 1.7.0 and Python 1.2.22
 */
const strictResumeKey = "__pregel_strict_resume"

/** What a worker needs to execute a claimed run. */
export function orderOf(claim: Claim): RunOrder {
  const kwargs = JSON.parse(claim.kwargs) as Kwargs
  const metadata = { ...kwargs.config.metadata, run_attempt: claim.attempt, langgraph_host: "self-hosted" }
  const caller = claim.caller === null ? {} : (JSON.parse(claim.caller) as Record<string, unknown>)
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
    runsAlone: claim.runsAlone,
    input: textOf(kwargs.input),
    command: textOf(kwargs.command),
    config: JSON.stringify({ ...kwargs.config, configurable, metadata }),
    context: JSON.stringify(kwargs.context),
  }
}

/** An absent value and null both mean "go on from the checkpoint": the empty text. */
const textOf = (value: unknown): string => (value === undefined || value === null ? "" : JSON.stringify(value))
