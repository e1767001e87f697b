/** From what a client asked for to what is stored and executed. Pure. */
import { RawJson, toJsonText } from "@superstep/toolkit/http/json"
import type { Assistant, Config } from "../assistants/assistant.js"
import type { RunOrder } from "../workers/port.js"
import type { Claim } from "./run.js"
import type { NewRunBody } from "./schema.js"

/** What the thread adds to a run on it. */
export interface ThreadDefaults {
  readonly metadata: Readonly<Record<string, unknown>>
  readonly config: Config
}

export interface RunIds {
  readonly runId: string
  readonly threadId: string
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

export function mergeKwargs(
  ids: RunIds,
  assistant: Assistant,
  thread: ThreadDefaults,
  body: NewRunBody,
  isStateless: boolean,
): Kwargs {
  const modes = [body.stream_mode ?? []].flat()
  return {
    ...(body.input !== undefined && { input: body.input }),
    ...(body.command && { command: body.command }),
    config: mergeConfig(ids, assistant, thread, body),
    context: mergeContext(assistant, body),
    // No mode and an empty list both mean the state after each step (decisions, agent server 3).
    stream_mode: modes.length === 0 ? ["values"] : [...new Set(modes)],
    ...(body.interrupt_before && { interrupt_before: body.interrupt_before }),
    ...(body.interrupt_after && { interrupt_after: body.interrupt_after }),
    durability: durabilityOf(body),
    temporary: isStateless,
    subgraphs: body.stream_subgraphs ?? false,
    resumable: body.stream_resumable ?? false,
  }
}

function mergeConfig({ runId, threadId }: RunIds, assistant: Assistant, thread: ThreadDefaults, body: NewRunBody) {
  const { configurable, metadata, tags, recursion_limit, ...extra } = body.config ?? {}
  return withoutAbsent({
    ...assistant.config,
    ...extra,
    tags: tags ?? assistant.config.tags,
    // Left out when nobody sets it, so that a limit bound to the graph survives (agent-server-api §2.1).
    recursion_limit: recursion_limit ?? assistant.config.recursion_limit,
    configurable: {
      ...assistant.config.configurable,
      ...thread.config.configurable,
      ...configurable,
      ...checkpointOf(body),
      run_id: runId,
      thread_id: threadId,
      graph_id: assistant.graphId,
      assistant_id: assistant.assistantId,
    },
    metadata: { ...assistant.config.metadata, ...metadata, ...mergeMetadata(assistant, thread, body) },
  })
}

/** The checkpoint to start from; the thread it names is the run's own. */
export function checkpointOf({ checkpoint, checkpoint_id }: NewRunBody): Record<string, unknown> {
  const { checkpoint_id: id = checkpoint_id, checkpoint_ns, checkpoint_map } = checkpoint ?? {}
  return withoutNull({ checkpoint_id: id, checkpoint_ns, checkpoint_map })
}

/** Context may be given as such or, by older clients, as configurable; never the other way round (§2.2). */
function mergeContext(assistant: Assistant, { context, config }: NewRunBody): unknown {
  const asked = context ?? config?.configurable ?? assistant.config.configurable
  const inherited = assistant.context
  if (typeof inherited !== "object" || inherited === null) return asked ?? inherited ?? {}
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

/** What a worker needs to execute a claimed run. */
export function orderOf(claim: Claim): RunOrder {
  const kwargs = JSON.parse(claim.kwargs) as Kwargs
  const metadata = { ...kwargs.config.metadata, run_attempt: claim.attempt, langgraph_host: "self-hosted" }
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
    config: JSON.stringify({ ...kwargs.config, metadata }),
    context: JSON.stringify(kwargs.context),
  }
}

/** An absent value and null both mean "go on from the checkpoint": the empty text. */
const textOf = (value: unknown): string => (value === undefined || value === null ? "" : JSON.stringify(value))

/** A Run resource. */
export function renderRun(row: {
  readonly run_id: string
  readonly thread_id: string
  readonly assistant_id: string
  readonly created_at: Date
  readonly updated_at: Date
  readonly status: string
  readonly metadata: string
  readonly kwargs: string
  readonly multitask_strategy: string
  readonly attempt: number
  readonly error: string | null
}): RawJson {
  const { metadata, kwargs, error, ...fields } = row
  return new RawJson(
    toJsonText({
      run_id: fields.run_id,
      thread_id: fields.thread_id,
      assistant_id: fields.assistant_id,
      created_at: fields.created_at,
      updated_at: fields.updated_at,
      status: fields.status,
      metadata: new RawJson(metadata),
      kwargs: new RawJson(kwargs),
      multitask_strategy: fields.multitask_strategy,
      attempt: fields.attempt,
      error: error === null ? null : new RawJson(error),
    }),
  )
}
