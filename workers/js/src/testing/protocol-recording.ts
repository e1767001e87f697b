/** Recorded protocol events of the reference server, and the differences that are allowed between two streams of one graph. */
import { readFileSync } from "node:fs"
import { isRecord } from "@superstep/protocol/worker/validate"
import type { RunOptions } from "./fake-server.js"
import type { StreamEvent } from "./recording.js"
import { graphsFolder } from "./worker.js"

export interface ProtocolRecording {
  readonly graphId: string
  readonly run: RunOptions
  readonly events: readonly ComparedEvent[]
}

export interface ComparedEvent {
  readonly method: string
  readonly namespace: readonly string[]
  readonly node?: unknown
  readonly data: unknown
}

/** The first run of a recording, up to the end of its root graph. @param name  of a file in `tests/graphs/recordings` */
export function readProtocolRecording(name: string): ProtocolRecording {
  const lines = readFileSync(`${graphsFolder}recordings/${name}.jsonl`, "utf8").trimEnd().split("\n")
  const [{ request }, ...events] = lines.map((line) => JSON.parse(line))
  const isRoot = ({ method, params }: { method: string; params: { namespace: string[] } }) =>
    method === "lifecycle" && params.namespace.length === 0
  const end = events.findIndex((event, index) => index > 0 && isRoot(event))
  return {
    graphId: request.assistant_id,
    run: { input: request.input, protocol_events: true, stream_modes: [] },
    // The server writes the lifecycle of the root.
    events: events.slice(1, end).flatMap(compared),
  }
}

/**
 * A recording as Python shows it: a message and a tool have the namespace of their graph, so a node that is no subgraph has no
 * lifecycle; and a tool's input is an object.
 */
export function inPython(events: readonly ComparedEvent[]): ComparedEvent[] {
  const byGraph = new Set(["values", "tasks", "updates", "custom"])
  const graphs = new Set(events.filter(({ method }) => byGraph.has(method)).map(({ namespace }) => namespace.join("|")))
  return events.flatMap((event) => {
    if (event.method === "lifecycle") return graphs.has(event.namespace.join("|")) ? [event] : []
    if (event.method !== "messages" && event.method !== "tools") return [event]
    const data = event.data as { readonly input?: string }
    const input = data.input === undefined ? {} : { input: JSON.parse(data.input) }
    return [{ ...event, namespace: event.namespace.slice(0, -1), data: { ...data, ...input } }]
  })
}

/** The protocol events of a worker's run in the same form. */
export const comparedEvents = (events: readonly StreamEvent[]): ComparedEvent[] =>
  events.flatMap(({ event, data }) => (event.startsWith("protocol:") ? compared(data as RecordedEvent) : []))

interface RecordedEvent {
  readonly method: string
  readonly params: { readonly namespace: string[]; readonly node?: unknown; readonly data: unknown }
}

/**
 * Our differences on purpose: a tool call's arguments so far are sent less often; each event of a message has its id;
 * the reason of a message's end is the provider's; an interrupt's value has two names; messages in a state have all their fields, and
 * the content that the model gave, which the reference server's way of streaming changes to blocks.
 */
function compared({ method, params }: RecordedEvent): ComparedEvent[] {
  const { namespace, node, data } = normalised(params)
  if (!isRecord(data)) return [{ method, namespace, node, data }]
  if (isRecord(data.delta) && data.delta.type === "block-delta") return []
  const { reason: _, run_id: __, value: ___, metadata: ____, error, ...rest } = data
  if (method === "messages" && data.event !== "message-start") delete (rest as { id?: unknown }).id
  const start = data.event === "content-block-start" ? { content: withoutArguments(data.content) } : {}
  // In Python a task's start has no interrupts.
  if (method === "tasks" && "input" in rest) delete (rest as { interrupts?: unknown }).interrupts
  // Since LangGraph 1.7, and in Python, a task's result has its error.
  const failure = method === "tasks" || error === undefined ? {} : { error }
  return [
    {
      method,
      namespace,
      ...(node === undefined ? {} : { node }),
      data: shortMessages({ ...rest, ...start, ...failure }),
    },
  ]
}

/** The reference server shows arguments that came later. */
const withoutArguments = (content: unknown) =>
  isRecord(content) && "args" in content ? { ...content, args: "" } : content

const messageTypes = new Set(["human", "ai", "tool"])

/** Messages reduced to what both forms have. */
function shortMessages(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shortMessages)
  if (!isRecord(value)) return value
  if (!messageTypes.has(String(value.type)) || !("content" in value)) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shortMessages(each)]))
  }
  const { type, content, tool_calls: calls = [] } = value
  const text = Array.isArray(content) ? content.map((block) => block.text ?? "").join("") : content
  return { type, text, calls: (calls as { name: string; args: object }[]).map(({ name, args }) => ({ name, args })) }
}

function normalised(params: RecordedEvent["params"]): RecordedEvent["params"] {
  const text = JSON.stringify(params)
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uuid>")
    .replaceAll("lc_run--<uuid>", "run-<uuid>")
    .replaceAll(',"response_schema":null', "")
    .replaceAll(/\b[0-9a-f]{32}\b/g, "<interrupt>")
  return JSON.parse(text)
}
