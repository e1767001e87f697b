/**
 * The protocol events of one run, from the chunks of LangGraph's stream (protocol/worker README, "Protocol events"). The channels,
 * their data and the order of events are the same as in Python, where the protocol allows it.
 *
 * A `checkpoints` event stands right before the `values` that it belongs to. LangGraph sends it there, unless a client of the
 * run asked for the mode `checkpoints`: then it comes after the values, which wait for it here.
 * The first values of a subgraph wait for its first task, whose metadata has the agent's name for `started`.
 */
import { isRecord } from "@superstep/protocol/worker/validate"
import { describeError } from "../errors/describe-error.js"
import { serialise } from "../values/serialise.js"
import { HeldValues } from "./held-values.js"
import { type Namespace, type ProtocolParts, protocolEvent } from "./protocol-event.js"
import { ProtocolMessages } from "./protocol-messages.js"
import { SubgraphLifecycle, type Terminal, taskPath } from "./subgraph-lifecycle.js"
import { ToolTasks, toolCallId } from "./tool-tasks.js"
import { SharedJson, type WireEvent } from "./wire-event.js"

export interface ProtocolOptions {
  /** Whether a checkpoint arrives in its full form, after its values. */
  readonly checkpointsFollow: boolean
  /** Whether a tool's events have the namespace of the task that called it, and not of its graph: LangGraph before 1.7. */
  readonly toolsNameTask: boolean
}

type Fields = Readonly<Record<string, unknown>>

export class ProtocolEvents {
  readonly #options: ProtocolOptions
  readonly #messages = new ProtocolMessages()
  readonly #lifecycle = new SubgraphLifecycle()
  readonly #toolTasks = new ToolTasks()
  readonly #held: HeldValues
  /** Interrupts that were reported; one from a subgraph comes again from each graph around it. */
  readonly #requested = new Set<string>()

  constructor(options: ProtocolOptions) {
    this.#options = options
    this.#held = new HeldValues(options.checkpointsFollow)
  }

  /**
   * All events of a chunk. A value that is in both forms is serialised once (W6).
   * @param chunk  `[namespace, mode, payload]`
   * @param own    the events of the chunk that the run's stream modes ask for
   */
  beside(chunk: unknown, own: readonly WireEvent[]): WireEvent[] {
    if (own.length === 0 || !Array.isArray(chunk)) return [...own, ...this.fromChunk(chunk)]
    const payload: unknown = chunk[2]
    const json = new SharedJson(payload)
    const events = this.fromChunk(chunk, json)
    return [...own.map((event) => (event.data === payload ? shared(event, json, events) : event)), ...events]
  }

  /**
   * @param chunk  `[namespace, mode, payload]`
   * @param json   the JSON of the payload, if another event shows it, too
   */
  fromChunk(chunk: unknown, json?: SharedJson): WireEvent[] {
    if (!Array.isArray(chunk) || !Array.isArray(chunk[0])) return []
    const [namespace, mode, payload]: [Namespace, unknown, unknown] = [chunk[0], chunk[1], chunk[2]]
    if (mode === "values") return this.#values(namespace, payload, json)
    if (mode === "checkpoints") return this.#checkpoint(namespace, payload)
    if (mode === "messages") return this.#begun(namespace, this.#messages.take(namespace, payload))
    if (mode === "tools") return isRecord(payload) ? this.#tool(namespace, payload) : []
    const start = [...this.#start(namespace, mode === "tasks" ? payload : undefined), ...this.#held.release(namespace)]
    if (mode === "updates") return [...start, ...this.#updates(namespace, payload)]
    if (mode === "tasks") return [...start, ...(isRecord(payload) ? this.#task(namespace, payload, json) : [])]
    return mode === "custom" ? [...start, custom(namespace, payload, json)] : start
  }

  /** What waits for something that may not come. Called before a checkpoint is saved, and when the stream is over. */
  flush(): WireEvent[] {
    return this.#held.namespaces().flatMap((namespace) => [...this.#start(namespace), ...this.#held.release(namespace)])
  }

  /** Ends messages and subgraphs that are left when the run ends. @param failure  why messages are not completed */
  end(status: Terminal, failure?: string): WireEvent[] {
    return [...this.flush(), ...this.#messages.end([], failure), ...this.#lifecycle.end(status)]
  }

  #start(namespace: Namespace, task?: unknown): WireEvent[] {
    if (this.#lifecycle.isStarted(namespace)) return []
    const metadata = isRecord(task) && isRecord(task.metadata) ? task.metadata : {}
    const { lc_agent_name: name } = metadata
    return this.#lifecycle.start(namespace, typeof name === "string" && name !== "" ? name : undefined)
  }

  /** Events, after the start of what their own namespace names. */
  #begun(graph: Namespace, events: WireEvent[]): WireEvent[] {
    const [first] = events
    if (first === undefined) return []
    const namespace = first.name.split("|").slice(1)
    return [...this.#start(namespace), ...this.#held.release(graph), ...events]
  }

  #values(namespace: Namespace, payload: unknown, json: SharedJson | undefined): WireEvent[] {
    // An interrupt is reported by `input.requested`; the state is that of the values before.
    if (isRecord(payload) && "__interrupt__" in payload) return []
    const event = protocolEvent({ channel: "values", namespace, data: payload, json })
    return this.#held.values(namespace, event, this.#lifecycle.isStarted(namespace))
  }

  #checkpoint(namespace: Namespace, payload: unknown): WireEvent[] {
    const envelope = isRecord(payload) ? envelopeOf(payload) : undefined
    if (envelope === undefined) return []
    const event = protocolEvent({ channel: "checkpoints", namespace, text: JSON.stringify(envelope) })
    return this.#held.checkpoint(namespace, event, this.#lifecycle.isStarted(namespace))
  }

  #updates(namespace: Namespace, payload: unknown): WireEvent[] {
    if (!isRecord(payload)) return []
    return Object.entries(payload).flatMap(([node, update]) => {
      if (node === "__interrupt__") return this.#interrupts(namespace, update)
      if (node === "__metadata__") return []
      const isObject = typeof update === "object" && update !== null
      const around: Pick<ProtocolParts, "around"> = isObject ? {} : { around: ['{"value":', "}"] }
      const json = new SharedJson(update)
      const event = protocolEvent({ channel: "updates", namespace, node, data: update, json, ...around })
      return [...this.#messages.returned(update), event]
    })
  }

  #interrupts(namespace: Namespace, interrupts: unknown): WireEvent[] {
    if (!Array.isArray(interrupts)) return []
    return interrupts.flatMap((interrupt) => {
      if (!isRecord(interrupt) || typeof interrupt.id !== "string" || this.#requested.has(interrupt.id)) return []
      this.#requested.add(interrupt.id)
      return [requested(namespace, interrupt.id, interrupt)]
    })
  }

  #task(namespace: Namespace, task: Fields, json: SharedJson | undefined): WireEvent[] {
    const path = taskPath(namespace, task)
    const event = protocolEvent({ channel: "tasks", namespace, data: task, json })
    if (!("result" in task)) {
      this.#lifecycle.taskStarts(namespace, task)
      if (!this.#options.toolsNameTask) this.#toolTasks.starts(namespace, path, task.input)
      return [event]
    }
    if (!this.#options.toolsNameTask) this.#toolTasks.ends(namespace, path)
    const asks = Array.isArray(task.interrupts) && task.interrupts.length > 0
    const failed = task.error !== undefined && task.error !== null
    const ended = this.#messages.end(path, failed ? reasonOf(task.error) : undefined)
    const status = failed ? "failed" : asks ? "interrupted" : "completed"
    return [
      ...ended,
      ...this.#interrupts(namespace, task.interrupts),
      event,
      ...this.#lifecycle.taskEnds(namespace, task, status, task),
    ]
  }

  #tool(graph: Namespace, payload: Fields): WireEvent[] {
    const isLast = payload.event === "on_tool_end" || payload.event === "on_tool_error"
    const namespace = this.#options.toolsNameTask ? graph : this.#toolTasks.pathOf(graph, toolCallId(payload), isLast)
    const parts = toolData(payload)
    return parts === undefined ? [] : this.#begun(graph, [protocolEvent({ channel: "tools", namespace, ...parts })])
  }
}

/** The same JSON for both forms of an event. The protocol's `updates` shows the node's part of the other one. */
function shared(event: WireEvent, json: SharedJson, protocol: readonly WireEvent[]): WireEvent {
  const isUpdate = event.name.split("|", 1)[0] === "updates"
  const nodes = isUpdate && isRecord(event.data) ? Object.entries(event.data) : []
  const [first] = nodes
  const part = protocol.find(({ name, data }) => name.startsWith("protocol:updates") && data === first?.[1])
  if (nodes.length !== 1 || first === undefined || part?.json === undefined) return { ...event, json }
  const around = [`{${JSON.stringify(first[0])}:`, "}"] as const
  return { ...event, json: part.json, around }
}

/** A lightweight checkpoint, or the full form's part of it. */
function envelopeOf(payload: Fields): object | undefined {
  if (typeof payload.id === "string" && !("config" in payload)) return payload
  const { metadata } = payload
  const id = checkpointId(payload.config)
  const parent = checkpointId(payload.parentConfig ?? payload.parent_config)
  if (typeof id !== "string" || !isRecord(metadata)) return undefined
  return { id, ...(parent === undefined ? {} : { parent_id: parent }), step: metadata.step, source: metadata.source }
}

const checkpointId = (config: unknown): unknown =>
  isRecord(config) && isRecord(config.configurable) ? config.configurable.checkpoint_id : undefined

/** JavaScript clients read `payload`, Python's read `value`. */
function requested(namespace: Namespace, id: string, interrupt: Fields): WireEvent {
  const value = serialise(interrupt.value)
  const text = `{"interrupt_id":${JSON.stringify(id)},"payload":${value},"value":${value}}`
  return protocolEvent({ channel: "input.requested", namespace, data: { __interrupt__: [interrupt] }, text })
}

function custom(namespace: Namespace, payload: unknown, json: SharedJson | undefined): WireEvent {
  const name = customName(payload)
  if (name !== undefined) return protocolEvent({ channel: `custom:${name}`, namespace, data: payload, json })
  return protocolEvent({ channel: "custom", namespace, data: payload, json, around: ['{"payload":', "}"] })
}

function customName(payload: unknown): string | undefined {
  try {
    const name = isRecord(payload) ? payload.name : undefined
    return name === undefined || name === null ? undefined : String(name)
  } catch {
    // A getter that fails, or a name that has no text.
    return undefined
  }
}

function toolData(payload: Fields): Pick<ProtocolParts, "data" | "around"> | undefined {
  const id = JSON.stringify(toolCallId(payload))
  const { event, name, input, data, output, error } = payload
  const head = (kind: string) => `{"event":"${kind}","tool_call_id":${id}`
  if (event === "on_tool_start") {
    return {
      data: input,
      around: [`${head("tool-started")},"tool_name":${JSON.stringify(name ?? "unknown")},"input":`, "}"],
    }
  }
  if (event === "on_tool_event") {
    const delta = typeof data === "string" ? data : serialise(data ?? "")
    return { data: delta, around: [`${head("tool-output-delta")},"delta":`, "}"] }
  }
  if (event === "on_tool_end") return { data: output, around: [`${head("tool-finished")},"output":`, "}"] }
  return event === "on_tool_error"
    ? { data: reasonOf(error), around: [`${head("tool-error")},"message":`, "}"] }
    : undefined
}

/** @param error  an error, or what LangGraph keeps of one */
function reasonOf(error: unknown): string {
  try {
    if (isRecord(error) && typeof error.message === "string") return error.message
  } catch {
    // A getter of a user's class failed.
  }
  return describeError(error).message
}
