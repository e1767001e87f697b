/** The recorded streams of the reference server, and our intended differences. */
import assert from "node:assert/strict"
import { isRecord } from "@superstep/protocol/worker/validate"
import { normalised, type StreamEvent } from "./recording.js"
import { isSince } from "./worker.js"

/** Streams by `graph.stream()`: the complete stream is the same, in the same order. */
export const inOrder = [
  "single-values",
  "single-updates",
  "single-messages-tuple",
  "single-debug",
  "single-custom",
  "single-tasks",
  "single-checkpoints",
  "single-tools",
  "multi-values-updates-messages-tuple-custom",
  "agent-multi",
  "error-multi",
  "interrupt-multi",
  "interrupt-values-only",
  "interrupt-two-parallel",
  "interrupt-before",
  "interrupt-before-star",
  ...(isSince("1.7.0") ? [] : ["nested-without-stream_subgraphs-multi"]),
  "chat-messages-tuple-subgraphs-true",
  "durability-exit",
  "subgraphs-values",
  "subgraphs-updates",
  "subgraphs-messages-tuple",
  "subgraphs-debug",
  "subgraphs-custom",
  "subgraphs-tasks",
  "subgraphs-checkpoints",
  "subgraphs-multi",
]

/** Streams by `streamEvents`. */
export const byGroup = ["single-events", "single-messages", "subgraphs-events", "subgraphs-messages", "multi-all"]

/** Our stream in the format of the recordings, whose checkpoint events have fewer fields. */
export function ours(events: readonly StreamEvent[]): StreamEvent[] {
  return events.map(normalised).map(reducedCheckpoint).map(withoutTaskError)
}

/** A recording changed to the format that we send; see `event-mapper.ts`. */
export function theirs(name: string, events: readonly StreamEvent[]): StreamEvent[] {
  const sent = events
    .map(normalised)
    .filter(({ event, data }) => !(event.startsWith("checkpoints") && isEnvelope(data)))
    .map(({ event, data }) => ({ event: withoutNodeTask(event), data }))
  return withCompleted(name, isSince("1.5.0") ? sent.map(withoutChunksInState) : sent)
}

/** The reference server sends three fields of a checkpoint; ours have more. */
function reducedCheckpoint({ event, data }: StreamEvent): StreamEvent {
  if (!event.startsWith("checkpoints") || typeof data !== "object" || data === null) return { event, data }
  assert.ok("config" in data && "tasks" in data && "checkpoint" in data && "parent_checkpoint" in data)
  const { values, metadata, next } = { values: null, metadata: null, next: null, ...data }
  return { event, data: { values, metadata, next } }
}

function isEnvelope(data: unknown): boolean {
  return typeof data === "object" && data !== null && "parent_id" in data
}

function withoutNodeTask(event: string): string {
  return event.startsWith("messages|") ? event.split("|").slice(0, -1).join("|") : event
}

/** With subgraphs the reference server omits `messages/complete` (agent-server API §7.6); we do not. */
function withCompleted(name: string, events: StreamEvent[]): StreamEvent[] {
  if (name !== "subgraphs-messages") return events
  const last = events.findLast(({ event }) => event === "messages/partial")
  return [...events, { event: "messages/complete", data: last?.data }]
}

/** Since LangGraph 1.7 the result of a task shows whether it failed: null, or the error as it is stored. */
function withoutTaskError({ event, data }: StreamEvent): StreamEvent {
  if (!isSince("1.7.0") || !isRecord(data)) return { event, data }
  const result = data.type === "task_result" ? data.payload : data
  if (!isRecord(result) || !("result" in result)) return { event, data }
  const { error, ...rest } = result
  assert.ok(error === null || isRecord(error))
  return { event, data: result === data ? rest : { ...data, payload: rest } }
}

/** Since LangGraph 1.5 a state has whole messages, no chunks; and so has a task's input, which is derived from it. */
function withoutChunksInState({ event, data }: StreamEvent): StreamEvent {
  const isState = event === "values" || (event === "tasks" && isRecord(data) && "input" in data)
  if (!isState) return { event, data }
  return {
    event,
    data: JSON.parse(JSON.stringify(data, (key, value) => (key === "tool_call_chunks" ? undefined : value))),
  }
}
