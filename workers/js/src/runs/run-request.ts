/** A run's order from the server, parsed, and the arguments for LangGraph. Pure. */
import type { RunFrame } from "@superstep/protocol/worker/frames"
import { isRecord } from "@superstep/protocol/worker/validate"
import type { RunnableConfig } from "../loading/langgraph.js"
import type { CommandFields } from "../values/command.js"

export interface RunConfig {
  readonly configurable?: Readonly<Record<string, unknown>>
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly tags?: readonly string[]
  readonly recursion_limit?: number
}

export interface RunRequest {
  readonly frame: RunFrame
  /** Null: continue from the checkpoint. */
  readonly input: unknown
  readonly command: CommandFields | undefined
  readonly config: RunConfig
  readonly context: object
}

/** @throws SyntaxError  a payload line is not JSON */
export function parseRun(frame: RunFrame, payload: readonly Buffer[]): RunRequest {
  const line = (name: RunFrame["payload"][number]): unknown => {
    const text = payload[frame.payload.indexOf(name)]
    return text === undefined || text.length === 0 ? undefined : JSON.parse(text.toString("utf8"))
  }
  const command = line("command")
  return {
    frame,
    input: line("input") ?? null,
    command: isRecord(command) ? command : undefined,
    config: objectOr(line("config")),
    // Always an object: without a context LangGraph checks `configurable` against the context's schema instead and
    // may throw (protocol-v2 §3.3).
    context: objectOr(line("context")),
  }
}

/** How to request the events from LangGraph. */
export interface StreamPlan {
  readonly engineModes: readonly string[]
  /** `streamEvents` costs ten times as much, so it is used only for the two modes that need it (architecture D6). */
  readonly usesEvents: boolean
}

/** The modes from which protocol events are made. A checkpoint's part comes with its values. */
const protocolModes = ["values", "updates", "messages", "tools", "custom", "tasks"]

export function streamPlan({
  stream_modes: wireModes,
  protocol_events = false,
}: Pick<RunFrame, "stream_modes" | "protocol_events">): StreamPlan {
  const asked = new Set<string>(protocol_events ? protocolModes : [])
  for (const mode of wireModes) {
    if (mode === "messages-tuple") asked.add("messages")
    else if (mode === "messages") asked.add("values")
    else if (mode !== "events") asked.add(mode)
  }
  return { engineModes: [...asked], usesEvents: wireModes.includes("events") || wireModes.includes("messages") }
}

/**
 * LangGraph's options. Values that were not requested are absent: an explicit `undefined` would erase values set with
 * `withConfig`, such as the recursion limit.
 * @param recorder  a callback handler of the run
 */
export function runnableConfig(
  { frame, config, context }: RunRequest,
  langgraphVersion: string | undefined,
  recorder?: object,
): RunnableConfig {
  const { run_id, thread_id, graph_id, attempt } = frame
  const version = langgraphVersion === undefined ? {} : { langgraph_version: langgraphVersion }
  return {
    configurable: { graph_id, ...config.configurable, run_id, thread_id },
    metadata: { graph_id, run_attempt: attempt, ...version, ...config.metadata, run_id, thread_id },
    context,
    runId: run_id,
    // LangGraph adds those with which the project has compiled its graph.
    ...(recorder === undefined ? {} : { callbacks: [recorder] }),
    durability: frame.durability,
    subgraphs: frame.stream_subgraphs || frame.protocol_events === true,
    ...(config.tags === undefined ? {} : { tags: config.tags }),
    ...(config.recursion_limit === undefined ? {} : { recursionLimit: config.recursion_limit }),
    ...(frame.interrupt_before === undefined ? {} : { interruptBefore: frame.interrupt_before }),
    ...(frame.interrupt_after === undefined ? {} : { interruptAfter: frame.interrupt_after }),
  }
}

function objectOr(value: unknown): object {
  return isRecord(value) ? value : {}
}
