/** Every stream mode against what the reference server sent, on the same graphs (recordings in tests/graphs). */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { FakeServer } from "./testing/fake-server.js"
import { byName, normalised, readRecording, type StreamEvent } from "./testing/recording.js"
import { startWorker } from "./testing/worker.js"

let server: FakeServer
before(async () => {
  server = await startWorker("chat", "agent", "nested", "error", "hitl", "hitl2")
})
after(() => server[Symbol.asyncDispose]())

/** Carried by `graph.stream()`: the whole stream is the same, in the same order. */
const inOrder = [
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
  "nested-without-stream_subgraphs-multi",
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

/** Carried by `streamEvents`. */
const byGroup = ["single-events", "single-messages", "subgraphs-events", "subgraphs-messages", "multi-all"]

for (const name of inOrder) {
  test(`the stream of ${name} is the recorded one`, async () => {
    const recording = readRecording(name)

    const { events } = await server.run(recording.graphId, recording.run)

    assert.deepEqual(ours(events), theirs(recording.events))
  })
}

for (const name of byGroup) {
  test(`each event of ${name} is the recorded one`, async () => {
    const recording = readRecording(name)

    const { events } = await server.run(recording.graphId, recording.run)

    assert.deepEqual(byName(ours(events)), byName(withCompleted(name, theirs(recording.events))))
  })
}

function ours(events: readonly StreamEvent[]): StreamEvent[] {
  return events.map(normalised).map(reducedCheckpoint)
}

/** The recording in the form that we send on purpose: see `event-mapper.ts`. */
function theirs(events: readonly StreamEvent[]): StreamEvent[] {
  return events
    .map(normalised)
    .filter(({ event, data }) => !(event.startsWith("checkpoints") && isEnvelope(data)))
    .map(({ event, data }) => ({ event: withoutNodeTask(event), data }))
}

/** The reference server sends three fields of a checkpoint; ours are these and more. */
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

/** With subgraphs the reference server forgets `messages/complete` (agent-server API §7.6); we do not. */
function withCompleted(name: string, events: StreamEvent[]): StreamEvent[] {
  if (name !== "subgraphs-messages") return events
  const last = events.findLast(({ event }) => event === "messages/partial")
  return [...events, { event: "messages/complete", data: last?.data }]
}
