/** The order of protocol events, and that nothing stays open. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { ProtocolEvents } from "./protocol-events.js"
import { eventText, type WireEvent } from "./wire-event.js"

const options = { checkpointsFollow: false, toolsNameTask: false }
const checkpoint = { id: "c1", step: 0, source: "loop" }
const full = { config: { configurable: { checkpoint_id: "c1" } }, metadata: { step: 0, source: "loop" }, values: {} }

/** Each event as its name and, where there is one, what happened. */
const told = (events: readonly WireEvent[]) =>
  events.map((event) => {
    const { data } = JSON.parse(eventText(event)).params
    return [event.name.replace("protocol:", ""), ...(data?.event === undefined ? [] : [data.event])].join(" ")
  })

function toldOf(protocol: ProtocolEvents, ...chunks: readonly unknown[]): string[] {
  return chunks.flatMap((chunk) => told(protocol.fromChunk(chunk)))
}

const chunkOf = (content: string) => ({ id: "m", content, concat: () => undefined, getType: () => "ai" })
const token = (content: string) => [[], "messages", [chunkOf(content), { langgraph_checkpoint_ns: "model:t" }]]
const ended = (fields: object) => [[], "tasks", { id: "t", name: "model", result: {}, interrupts: [], ...fields }]

test("a checkpoint stands before its values, also when LangGraph sends it after them", () => {
  const leading = new ProtocolEvents(options)
  const alone = toldOf(leading, [[], "checkpoints", checkpoint])
  const before = toldOf(leading, [[], "values", {}])
  const following = new ProtocolEvents({ ...options, checkpointsFollow: true })
  const after = toldOf(following, [[], "checkpoints", full], [[], "values", {}], [[], "checkpoints", full])

  assert.deepEqual([alone, before, after], [[], ["checkpoints", "values"], ["checkpoints", "values"]])
})

test("values whose checkpoint does not come are sent before the next checkpoint is saved", () => {
  const protocol = new ProtocolEvents({ ...options, checkpointsFollow: true })

  const early = toldOf(protocol, [[], "values", {}], [["sub:t"], "values", {}])

  assert.deepEqual([early, told(protocol.flush())], [[], ["values", "lifecycle|sub:t started", "values|sub:t"]])
})

test("a named agent starts with its name and its tool call, before its first values", () => {
  const protocol = new ProtocolEvents(options)
  const task = { id: "t", name: "tools", input: { tool_call: { id: "call_1" } } }
  const inner = { id: "u", name: "model", input: {}, metadata: { lc_agent_name: "researcher" } }
  protocol.fromChunk([[], "tasks", task])
  protocol.fromChunk([["tools:t"], "values", {}])

  const events = protocol.fromChunk([["tools:t"], "tasks", inner])

  assert.deepEqual(told(events), ["lifecycle|tools:t started", "values|tools:t", "tasks|tools:t"])
  const { graph_name, cause } = JSON.parse(eventText(events[0] as WireEvent)).params.data
  assert.deepEqual([graph_name, cause], ["researcher", { type: "toolCall", tool_call_id: "call_1" }])
})

test("a message is finished when its task has a result, and failed when its task failed or the run ends with an error", () => {
  const [done, failed, lost] = [ended({}), ended({ error: { message: "no" } }), undefined].map((end) => {
    const protocol = new ProtocolEvents(options)
    protocol.fromChunk(token("a"))
    return end === undefined ? told(protocol.end("failed", "boom")) : toldOf(protocol, end)
  })

  const ns = "model:t"
  assert.deepEqual(done, [
    `messages|${ns} content-block-finish`,
    `messages|${ns} message-finish`,
    "tasks",
    `lifecycle|${ns} completed`,
  ])
  assert.deepEqual(failed, [`messages|${ns} error`, "tasks", `lifecycle|${ns} failed`])
  assert.deepEqual(lost, [`messages|${ns} error`, `lifecycle|${ns} failed`])
})

test("an interrupt of a subgraph is requested once, there", () => {
  const interrupt = { __interrupt__: [{ id: "i", value: "sure?" }] }
  const protocol = new ProtocolEvents(options)

  const events = [
    ...protocol.fromChunk([["sub:t"], "updates", interrupt]),
    ...protocol.fromChunk([[], "updates", interrupt]),
  ]

  assert.deepEqual(told(events), ["lifecycle|sub:t started", "input.requested|sub:t"])
  const { data } = JSON.parse(eventText(events[1] as WireEvent)).params
  assert.deepEqual(data, { interrupt_id: "i", payload: "sure?", value: "sure?" })
})

test("a tool's events name the task whose input has the call", () => {
  const protocol = new ProtocolEvents(options)
  const input = { messages: [{ tool_calls: [{ id: "c" }] }] }
  const tool = (event: string) => [[], "tools", { event, toolCallId: "c", name: "add" }]
  protocol.fromChunk([[], "tasks", { id: "t", name: "tools", input }])

  const names = toldOf(protocol, tool("on_tool_start"), tool("on_tool_end"))

  assert.deepEqual(names, ["lifecycle|tools:t started", "tools|tools:t tool-started", "tools|tools:t tool-finished"])
})

test("a custom event with a name has a channel of that name", () => {
  const events = new ProtocolEvents(options).fromChunk([[], "custom", { name: "progress", payload: 1 }])

  assert.deepEqual(told(events), ["custom:progress"])
  assert.equal(JSON.parse(eventText(events[0] as WireEvent)).method, "custom")
})
