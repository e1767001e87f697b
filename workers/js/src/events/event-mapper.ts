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
import { isRecord } from "@superstep/protocol/worker/validate"
import { checkpointPayload, debugPayload } from "../checkpoints/checkpoint-payload.js"
import { LegacyMessages } from "./legacy-messages.js"
import type { ProtocolEvents } from "./protocol-events.js"
import type { WireEvent } from "./wire-event.js"

export interface AskedFor {
  readonly runId: string
  readonly modes: readonly string[]
  readonly subgraphs: boolean
  /** Whether the chunks have namespaces. Protocol events need them even where the run's own events come from the root only. */
  readonly isDeep: boolean
  /** Whether a tool's events have the namespace of the task that called it, and not of its graph: LangGraph before 1.7. */
  readonly toolsNameTask: boolean
}

/** Maps the chunks of one run, in order. */
export class EventMapper {
  readonly #asked: AskedFor
  readonly #modes: ReadonlySet<string>
  readonly #legacy: LegacyMessages | undefined
  readonly #protocol: ProtocolEvents | undefined

  /** @param protocol  makes the run's protocol events, if it has them */
  constructor(asked: AskedFor, protocol?: ProtocolEvents) {
    this.#asked = asked
    this.#protocol = protocol
    this.#modes = new Set(asked.modes)
    this.#legacy = this.#modes.has("messages") ? new LegacyMessages() : undefined
  }

  /** @param chunk  `[mode, payload]`, or `[namespace, mode, payload]` when subgraphs are streamed */
  fromChunk(chunk: unknown): WireEvent[] {
    const own = this.#askedFor(chunk)
    return this.#protocol === undefined ? own : this.#protocol.beside(chunk, own)
  }

  #askedFor(chunk: unknown): WireEvent[] {
    if (!Array.isArray(chunk)) return []
    const [namespace, mode, payload] = this.#asked.isDeep ? chunk : [[], ...chunk]
    if (!Array.isArray(namespace) || !this.#isAskedFor(mode, namespace)) return []
    if (mode === "messages") return this.#modes.has("messages-tuple") ? [this.#message(namespace, payload)] : []
    const complete = mode === "values" && namespace.length === 0 ? this.#legacy?.onValues(payload) : undefined
    // Only the task of a tool is known: a tool in a `task()` keeps the segments of the calls around it.
    const graph = mode === "tools" && this.#asked.toolsNameTask ? namespace.slice(0, -1) : namespace
    const own = this.#modes.has(mode) ? [{ name: this.#name(mode, graph), data: shaped(mode, payload) }] : []
    return complete === undefined ? own : [...own, ...complete]
  }

  /** @param event  an event of `streamEvents`, which also contain the root's stream chunks */
  fromLangChainEvent(event: unknown): WireEvent[] {
    if (!isRecord(event)) return []
    if (event.event === "on_chain_stream" && event.run_id === this.#asked.runId) {
      return isRecord(event.data) ? this.fromChunk(event.data.chunk) : []
    }
    const isHidden = Array.isArray(event.tags) && event.tags.includes("langsmith:hidden")
    const own = this.#modes.has("events") && !isHidden ? [{ name: "events", data: event }] : []
    return [...own, ...(this.#legacy?.onLangChainEvent(event) ?? [])]
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
    const { subgraphs, toolsNameTask } = this.#asked
    if (subgraphs || namespace.length === 0 || mode === "custom") return true
    return toolsNameTask && (mode === "messages" || mode === "tools")
  }

  #name(mode: string, namespace: readonly unknown[]): string {
    return this.#asked.subgraphs ? [mode, ...namespace].join("|") : mode
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
