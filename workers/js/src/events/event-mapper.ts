/**
 * Maps LangGraph's stream to the events of the wire (agent-server API §7.4 to §7.7).
 *
 * Two things differ from LangGraph JS on purpose, to match the Platform's form, which LangGraph 1.7 has too. First, the
 * namespace of a message or a tool is that of the graph it was made in, without the task of the node: a token of a root node
 * is plain `messages`, and a token of a node in `sub` is `messages|sub:<task>`. Second, unrequested lightweight `checkpoints`
 * envelopes are dropped.
 * Interrupts have LangGraph's form: `{"__interrupt__": […]}` on `updates` and `values`, whichever were requested; an empty
 * list means a breakpoint.
 */
import type { RunFrame } from "@superstep/protocol/worker/frames"
import { isRecord } from "@superstep/protocol/worker/validate"
import { checkpointPayload, debugPayload } from "../checkpoints/checkpoint-payload.js"
import { LegacyMessages } from "./legacy-messages.js"
import { ProtocolEvents } from "./protocol-events.js"
import type { WireEvent } from "./wire-event.js"

/** What a run asks for. Protocol events need namespaces even where the run's other events come from the root only. */
type AskedFor = Pick<RunFrame, "run_id" | "stream_modes" | "stream_subgraphs" | "protocol_events">

/** Maps the chunks of one run, in order: to the events that its stream modes ask for, and to its protocol events beside them. */
export class EventMapper {
  readonly #asked: AskedFor
  readonly #toolsNameTask: boolean
  readonly #modes: ReadonlySet<string>
  readonly #legacy: LegacyMessages | undefined
  /** Makes the protocol events, if the run has them. */
  readonly protocol: ProtocolEvents | undefined

  /** @param toolsNameTask  whether a tool's events have the namespace of the task that called it, and not of its graph: LangGraph before 1.7 */
  constructor(asked: AskedFor, toolsNameTask: boolean) {
    this.#asked = asked
    this.#toolsNameTask = toolsNameTask
    this.#modes = new Set(asked.stream_modes)
    const checkpointsFollow = this.#modes.has("checkpoints")
    this.protocol = asked.protocol_events ? new ProtocolEvents({ toolsNameTask, checkpointsFollow }) : undefined
    this.#legacy = this.#modes.has("messages") ? new LegacyMessages() : undefined
  }

  /** @param chunk  `[mode, payload]`, or `[namespace, mode, payload]` when subgraphs are streamed, or the run has protocol events */
  fromChunk(chunk: unknown): WireEvent[] {
    const own = this.#askedFor(chunk)
    return this.protocol === undefined ? own : this.protocol.beside(chunk, own)
  }

  #askedFor(chunk: unknown): WireEvent[] {
    if (!Array.isArray(chunk)) return []
    const [namespace, mode, payload] = this.#isDeep ? chunk : [[], ...chunk]
    if (!Array.isArray(namespace) || !this.#isAskedFor(mode, namespace)) return []
    if (mode === "messages") return this.#modes.has("messages-tuple") ? [this.#message(namespace, payload)] : []
    const complete = mode === "values" && namespace.length === 0 ? this.#legacy?.onValues(payload) : undefined
    // Only the task of a tool is known: a tool in a `task()` keeps the segments of the calls around it.
    const graph = mode === "tools" && this.#toolsNameTask ? namespace.slice(0, -1) : namespace
    const own = this.#modes.has(mode) ? [{ name: this.#name(mode, graph), data: shaped(mode, payload) }] : []
    return complete === undefined ? own : [...own, ...complete]
  }

  /** The events of a chunk of the root graph. */
  fromRoot(mode: string, payload: unknown): WireEvent[] {
    return this.fromChunk(this.#isDeep ? [[], mode, payload] : [mode, payload])
  }

  /** @param event  an event of `streamEvents`, which also contain the root's stream chunks */
  fromLangChainEvent(event: unknown): WireEvent[] {
    if (!isRecord(event)) return []
    if (event.event === "on_chain_stream" && event.run_id === this.#asked.run_id) {
      return isRecord(event.data) ? this.fromChunk(event.data.chunk) : []
    }
    const isHidden = Array.isArray(event.tags) && event.tags.includes("langsmith:hidden")
    const own = this.#modes.has("events") && !isHidden ? [{ name: "events", data: event }] : []
    return [...own, ...(this.#legacy?.onLangChainEvent(event) ?? [])]
  }

  get #isDeep(): boolean {
    return this.#asked.stream_subgraphs || this.protocol !== undefined
  }

  #message(namespace: readonly unknown[], payload: unknown): WireEvent {
    const metadata: unknown = Array.isArray(payload) ? payload[1] : undefined
    // LangGraph 1.4 gives the node's task, 1.7 the graph; the metadata has the task in both.
    const graph = (isRecord(metadata) ? graphNamespace(metadata) : undefined) ?? namespace
    return { name: this.#name("messages", graph), data: payload }
  }

  /**
   * Without subgraphs LangGraph streams custom events of all graphs, before 1.7 also messages and tools, and everything else of the
   * root only.
   */
  #isAskedFor(mode: string, namespace: readonly unknown[]): boolean {
    if (this.#asked.stream_subgraphs || namespace.length === 0 || mode === "custom") return true
    return this.#toolsNameTask && (mode === "messages" || mode === "tools")
  }

  #name(mode: string, namespace: readonly unknown[]): string {
    return this.#asked.stream_subgraphs ? [mode, ...namespace].join("|") : mode
  }
}

/**
 * The namespace of the graph that a task runs in: without the task's own segment, and without the segments of the calls of `task()`
 * that led to it, since a call runs in its caller's graph. The path of a call is `["__pregel_push", <path of its caller>, index, true]`.
 */
function graphNamespace({ langgraph_checkpoint_ns: ns, langgraph_path }: Readonly<Record<string, unknown>>) {
  if (typeof ns !== "string") return undefined
  let segments = 1
  for (let path = langgraph_path; isCall(path); path = path[1]) segments += 1
  return ns.split("|").slice(0, -segments)
}

const isCall = (path: unknown): path is readonly unknown[] =>
  Array.isArray(path) && path[0] === "__pregel_push" && path.at(-1) === true

function shaped(mode: string, payload: unknown): unknown {
  if (!isRecord(payload)) return payload
  if (mode === "checkpoints") return checkpointPayload(payload)
  return mode === "debug" ? debugPayload(payload) : payload
}
