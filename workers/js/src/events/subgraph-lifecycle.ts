/**
 * The `lifecycle` events of subgraphs: `started` at the first event of a namespace; `completed`, `failed` or `interrupted` when the
 * task that it belongs to has its result, or when the run ends. Pure.
 *
 * A subgraph of a named agent has the agent's name and the tool call that started it. A namespace is forgotten when it ends.
 */
import { isRecord } from "@superstep/protocol/worker/validate"
import { type Namespace, protocolEvent } from "./protocol-event.js"
import type { WireEvent } from "./wire-event.js"

export type Terminal = "completed" | "failed" | "interrupted"

interface Started {
  readonly namespace: Namespace
  readonly graphName: string
}

export class SubgraphLifecycle {
  /** In the order in which they started, by their path. */
  readonly #started = new Map<string, Started>()
  /** By the path of a task that executes: the tool call in its input. */
  readonly #toolCalls = new Map<string, string>()

  isStarted(namespace: Namespace): boolean {
    return namespace.length === 0 || this.#started.has(namespace.join("|"))
  }

  /**
   * Called before the first event of a namespace.
   * @param agentName  the name of the agent whose graph it is, from its tasks' metadata
   */
  start(namespace: Namespace, agentName?: string): WireEvent[] {
    return namespace.flatMap((_, last) => {
      const path = namespace.slice(0, last + 1)
      if (this.isStarted(path)) return []
      return [this.#start(path, last === namespace.length - 1 ? agentName : undefined)]
    })
  }

  /** @param namespace  of the graph whose task starts */
  taskStarts(namespace: Namespace, task: Readonly<Record<string, unknown>>): void {
    const call = toolCallOf(task.input)
    if (call !== undefined) this.#toolCalls.set(taskPath(namespace, task).join("|"), call)
  }

  /** @param data  the task's payload, by which an event that reports an interrupt is recognised */
  taskEnds(
    namespace: Namespace,
    task: Readonly<Record<string, unknown>>,
    status: Terminal,
    data: unknown,
  ): WireEvent[] {
    const path = taskPath(namespace, task)
    this.#toolCalls.delete(path.join("|"))
    return this.#end(path, status, data)
  }

  /** Ends all that are left. */
  end(status: Terminal): WireEvent[] {
    return this.#end([], status)
  }

  #start(namespace: Namespace, agentName: string | undefined): WireEvent {
    const key = namespace.join("|")
    const graphName = agentName ?? (namespace.at(-1) ?? "").split(":")[0] ?? ""
    this.#started.set(key, { namespace, graphName })
    const call = agentName === undefined ? undefined : this.#toolCalls.get(key)
    const cause = call === undefined ? {} : { cause: { type: "toolCall", tool_call_id: call } }
    return lifecycleEvent(namespace, { event: "started", graph_name: graphName, ...cause })
  }

  /** Inner namespaces end before outer ones. */
  #end(path: Namespace, status: Terminal, data?: unknown): WireEvent[] {
    if (this.#started.size === 0) return []
    const below = [...this.#started].filter(([, { namespace }]) => path.every((each, i) => namespace[i] === each))
    return below.reverse().map(([key, { namespace, graphName }]) => {
      this.#started.delete(key)
      return lifecycleEvent(namespace, { event: status, graph_name: graphName }, data)
    })
  }
}

const lifecycleEvent = (namespace: Namespace, event: object, data?: unknown): WireEvent =>
  protocolEvent({ channel: "lifecycle", namespace, data, text: JSON.stringify(event) })

export const taskPath = (namespace: Namespace, { name, id }: Readonly<Record<string, unknown>>): Namespace => [
  ...namespace,
  `${name}:${id}`,
]

/** An agent's tool node gets its tool call as `{tool_call: {id}}`, or a list of tool calls in older versions. */
function toolCallOf(input: unknown): string | undefined {
  const call: unknown = Array.isArray(input) ? input.find(hasId) : isRecord(input) ? input.tool_call : undefined
  return hasId(call) ? call.id : undefined
}

const hasId = (value: unknown): value is { readonly id: string } => isRecord(value) && typeof value.id === "string"
