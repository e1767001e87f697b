/** Runs in the real Python worker: it behaves like the JavaScript worker. */
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { after, before, test } from "node:test"
import type { FakeServer, Received } from "./testing/fake-server.js"
import { eventsByNode } from "./testing/functional-graph.js"
import { interpreter, project, pythonGraphs, skip, startPythonWorker, worker } from "./testing/python-worker.js"

async function serving(): Promise<FakeServer> {
  const started = await startPythonWorker()
  assert.deepEqual((await started.load(project, pythonGraphs)).failed, [])
  return started
}

// One worker for all but those tests that end it: an import of LangGraph takes a second.
let server: FakeServer
before(async () => {
  if (!skip) server = await serving()
})
after(async () => {
  if (!skip) await server[Symbol.asyncDispose]()
})

const names = (events: readonly { event: string }[]) => events.map(({ event }) => event)
const isAbout = (frame: Received, claimId: string) => "claim_id" in frame.header && frame.header.claim_id === claimId

test("a Python model's tokens are streamed one by one, those of a subgraph with its namespace", { skip }, async () => {
  const input = { messages: [{ role: "user", content: "hi" }] }

  const flat = await server.run("chat", { input, stream_modes: ["messages-tuple"] })
  const deep = await server.run("nested", { input, stream_modes: ["messages-tuple"], stream_subgraphs: true })

  const words = flat.events.map(({ data }) => (data as [{ content: string; type: string }])[0])
  assert.equal(words.map(({ content }) => content).join(""), "Hello there")
  assert.deepEqual(new Set(words.map(({ type }) => type)), new Set(["AIMessageChunk"]))
  assert.deepEqual(new Set(names(flat.events)), new Set(["messages"]))
  assert.match(names(deep.events).join(" "), /^messages\|sub:[0-9a-f-]{36}( messages\|sub:[0-9a-f-]{36})+$/)
  const { messages } = flat.values as { messages: { type: string; content: string }[] }
  assert.deepEqual(
    messages.map(({ type, content }) => [type, content]),
    [
      ["human", "hi"],
      ["ai", "Hello there"],
    ],
  )
})

test("LangChain's events contain the stream of a Python graph, too", { skip }, async () => {
  const input = { messages: [{ role: "user", content: "hi" }] }

  const { events, status } = await server.run("chat", { input, stream_modes: ["events", "values"] })

  const kinds = events.filter(({ event }) => event === "events").map(({ data }) => (data as { event: string }).event)
  assert.equal(status, "success")
  assert.equal(kinds[0], "on_chain_start")
  assert.ok(kinds.includes("on_chat_model_stream"))
  assert.equal(events.filter(({ event }) => event === "values").length, 2)
})

test("events of a functional graph have the same names in Python and JavaScript", { skip }, async () => {
  const [deep, flat] = [await eventsByNode(server, true), await eventsByNode(server, false)]

  assert.deepEqual(deep, { messages: ["messages"], tools: ["tools|functional:<task>"] })
  assert.deepEqual(flat, { messages: ["messages"], tools: [] })
})

test("of two parallel interrupts in Python, an answered one is no longer open", { skip }, async () => {
  const thread_id = crypto.randomUUID()
  const asked = await server.run("pair", { thread_id, input: { out: [] } })
  const [first, second] = Object.values(Object(asked.interrupts))
    .flat()
    .map((each) => String(Object(each).id))

  const between = await server.run("pair", { thread_id, command: { resume: { [String(first)]: "A" } } })
  const end = await server.run("pair", { thread_id, command: { resume: null } })

  assert.deepEqual(
    Object.values(Object(between.interrupts))
      .flat()
      .map((each) => Object(each).id),
    [second],
  )
  assert.deepEqual([between.status, end.status], ["interrupted", "success"])
  assert.deepEqual(end.values, { out: ["a:A", "b:None"] })
})

test("a Python node with two interrupts is interrupted twice", { skip }, async () => {
  const thread_id = crypto.randomUUID()
  const answers = ["one", "two"].map((resume) => ({ thread_id, command: { resume } }))

  const first = await server.run("twice", { thread_id, input: { x: 0 } })
  const [second, third] = [await server.run("twice", answers[0]), await server.run("twice", answers[1])]

  assert.deepEqual(
    [first, second, third].map(({ status }) => status),
    ["interrupted", "interrupted", "success"],
  )
  assert.deepEqual(third.values, { x: 0, y: "one, two" })
  assert.match(JSON.stringify(second.interrupts), /second\?/)
})

for (const [durability, modes] of [
  ["sync", ["tasks"]],
  ["async", ["tasks", "events"]],
] as const) {
  test(`events of a Python task are sent before its writes, ${durability} (W2)`, { skip }, async () => {
    const { frame, values } = await server.run("wide", {
      input: {},
      durability,
      stream_modes: modes,
      stream_subgraphs: true,
    })

    const told = new Set<string>()
    let saved = 0
    for (const each of server.received.filter((one) => isAbout(one, frame.claim_id))) {
      const { header } = each
      if (header.type === "event" && header.event.startsWith("tasks")) {
        const task = JSON.parse(each.payload.data ?? "") as { id: string; result?: unknown }
        if ("result" in task) told.add(task.id)
      }
      if (header.type !== "call" || header.method !== "checkpoint.put_writes") continue
      // The task that applies the input is hidden.
      const { task_id: taskId, task_path: path } = header.writes[0] ?? {}
      if (path?.endsWith("__start__")) continue
      saved += 1
      assert.ok(told.has(taskId ?? ""), `the writes of ${path} came before its event`)
    }
    assert.ok(saved >= 100)
    assert.equal((values as { sums: number[] }).sums.length, 100)
  })
}

test("writes of a Python run may wait for others, unless it awaits them", { skip }, async () => {
  for (const [durability, mayWait] of [
    ["async", true],
    ["exit", true],
    ["sync", undefined],
  ] as const) {
    const { frame, status } = await server.run("hitl", { input: { x: 0 }, durability })

    const writes = server.received.flatMap(({ header }) =>
      header.type === "call" && "claim_id" in header && header.claim_id === frame.claim_id ? [header] : [],
    )
    assert.equal(status, "interrupted")
    assert.ok(writes.length > 0)
    assert.ok(writes.every((call) => Object(call).may_wait === mayWait))
  }
})

test("a rejected write that a Python run does not await fails the run", { skip }, async () => {
  const run = server.startRun("slow", { input: { n: 0 }, config: { configurable: { tick_ms: 3_600_000 } } })
  server.refuse = (call) =>
    "claim_id" in call && call.claim_id === run.claim_id ? { error: "InvalidInput", message: "too big" } : undefined

  const { status, error } = await server.done(run)

  server.refuse = () => undefined
  assert.deepEqual([status, error?.message], ["error", "too big"])
})

test("Python-only values are restored from a checkpoint unchanged", { skip }, async () => {
  const make = async (kind: string) => (await server.run("values", { input: { kind } })).values

  assert.deepEqual(await make("point"), { kind: "Point", value: { x: 1.5, y: null } })
  assert.deepEqual(await make("set"), { kind: "set", value: [1] })
  assert.deepEqual(await make("tuple"), { kind: "tuple", value: [1, 2] })
  assert.deepEqual(await make("bytes"), { kind: "bytes", value: "YWI=" })
  assert.deepEqual(await make("date"), { kind: "datetime", value: "2026-01-02T00:00:00+00:00" })
  assert.deepEqual(await make("keys"), { kind: "dict", value: { 1: "one" } })
})

test("a failing Python run reports its error and does not affect others", { skip }, async () => {
  const other = server.startRun("slow", { input: { n: 3 }, config: { configurable: { tick_ms: 1 } } })

  const failed = await server.run("values", { input: { kind: "error" } })
  const unknown = await server.run("values", { input: { kind: "set" }, stream_modes: ["nonsense"] })

  assert.deepEqual([failed.status, failed.error], ["error", { error: "LookupError", message: "nothing is there" }])
  assert.deepEqual(failed.next, ["make"])
  assert.match(unknown.error?.message ?? "", /has no stream mode nonsense/)
  assert.equal((await server.done(other)).status, "success")
})

test("Python code that ends the process is reported by its exit code", { skip }, async () => {
  await using ending = await serving()

  ending.startRun("values", { input: { kind: "exit" } })

  assert.equal(await ending.exit(), 71)
})

test("a Python worker exits with its server, also when its output is not read", { skip }, async () => {
  const ending = await serving()
  ending.child.stderr?.destroy()

  await ending[Symbol.asyncDispose]()

  assert.equal(await ending.exit(), 70)
})

test("a Python node that blocks its thread blocks neither pings nor its own cancellation (W7)", { skip }, async () => {
  const run = server.startRun("values", { input: { kind: "blocked" }, stream_modes: ["tasks"] })
  await server.frame((frame) => frame.header.type === "event" && isAbout(frame, run.claim_id))
  server.send({ type: "ping", nonce: "n" })
  await server.frame(({ header }) => header.type === "pong")

  server.send({ type: "cancel", run_id: run.run_id, claim_id: run.claim_id })

  assert.equal((await server.done(run)).status, "cancelled")
})

test("a cancel that arrives in the same write as its Python run cancels it", { skip }, async () => {
  const run = server.startRun("slow", { input: { n: 0 }, config: { configurable: { tick_ms: 100 } } })
  // The writer sends all frames of one turn of the event loop in one write.
  server.send({ type: "cancel", run_id: run.run_id, claim_id: run.claim_id })

  assert.equal((await server.done(run)).status, "cancelled")
})

test("an attempt of a Python run after a lost claim continues from the last checkpoint", { skip }, async () => {
  const config = { configurable: { tick_ms: 1 } }
  const options = { input: { n: 0 }, stream_modes: ["custom"], config, durability: "sync" } as const
  const [thread_id, run_id, claim_id] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()]
  let puts = 0
  server.refuse = (call) => {
    if (!("claim_id" in call) || call.claim_id !== claim_id) return undefined
    if (call.method === "checkpoint.put") puts += 1
    return puts > 3 ? { error: "ClaimLost", message: "lost" } : undefined
  }
  const first = server.startRun("slow", { ...options, run_id, claim_id, thread_id })
  await server.frame(({ header }) => header.type === "call" && header.method === "checkpoint.put" && puts > 3)

  const again = await server.run("slow", { ...options, run_id, thread_id, attempt: 2 })

  assert.deepEqual(again.values, { n: 5 })
  assert.deepEqual(
    again.events.map(({ data }) => data),
    [{ tick: 2 }, { tick: 3 }, { tick: 4 }],
  )
  assert.ok(!server.received.some((each) => each.header.type === "done" && isAbout(each, first.claim_id)))
})

test("a Python run stops at a breakpoint, a repeated attempt, too, and a new run continues from it", {
  skip,
}, async () => {
  const thread_id = crypto.randomUUID()
  const run = {
    run_id: crypto.randomUUID(),
    thread_id,
    stream_modes: ["updates"],
    config: { configurable: { tick_ms: 1 } },
  }
  const stop = { ...run, input: { n: 3 }, interrupt_before: ["tick"] }

  const first = await server.run("slow", stop)
  const repeated = await server.run("slow", { ...stop, attempt: 2 })
  const on = await server.run("slow", { ...run, run_id: crypto.randomUUID() })

  for (const { status, next, events } of [first, repeated]) {
    assert.deepEqual([status, next], ["interrupted", ["tick"]])
    assert.deepEqual(events, [{ event: "updates", data: { __interrupt__: [] } }])
  }
  assert.deepEqual([on.status, on.values], ["success", { n: 5 }])
})

test("a Python node gets the answer `null`", { skip }, async () => {
  const { frame } = await server.run("hitl", { input: { x: 0 } })

  const { values } = await server.run("hitl", { thread_id: frame.thread_id, command: { resume: null } })

  assert.deepEqual(values, { x: 4, y: "none" })
})

test("a Python graph returns its drawing, schemas and subgraphs", { skip }, async () => {
  const ask = async (method: string, graph_id: string, fields: object = {}) =>
    Object(await server.ask({ method, graph_id, ...fields }))

  const closed = await ask("graph.draw", "nested", { xray: false })
  const open = await ask("graph.draw", "nested", { xray: true })
  const schemas = await ask("graph.schemas", "hitl")
  const subgraphs = await ask("graph.subgraphs", "nested", { recurse: true })
  const none = await ask("graph.subgraphs", "nested", { recurse: true, namespace: "nobody" })

  const ids = ({ nodes }: { nodes: { id: string }[] }) => nodes.map(({ id }) => id)
  assert.ok(ids(closed).includes("__start__") && closed.edges.length > 0)
  assert.ok(ids(open).length > 0)
  assert.deepEqual(Object.keys(schemas.state_schema.properties).sort(), ["x", "y"])
  assert.equal(schemas.input_schema.type, "object")
  assert.ok(Object.keys(subgraphs).length > 0)
  assert.equal(Object(Object.values(subgraphs)[0]).state_schema.type, "object")
  assert.deepEqual(none, {})
})

test("a Python graph reads the state and the history of a thread", { skip }, async () => {
  const { frame } = await server.run("hitl", { input: { x: 0 } })
  const question = { graph_id: "hitl", thread_id: frame.thread_id, checkpoint_ns: "" }

  const state = (await server.ask({ method: "graph.state", ...question, subgraphs: false })) as ThreadState
  const history = (await server.ask({ method: "graph.history", ...question, limit: 10 })) as ThreadState[]

  assert.deepEqual([state.values, state.next], [{ x: 0 }, ["ask"]])
  assert.deepEqual(state.tasks[0]?.interrupts[0]?.value, { question: "continue?" })
  assert.deepEqual(state.interrupts, state.tasks[0]?.interrupts)
  assert.equal(state.checkpoint.thread_id, frame.thread_id)
  assert.equal(state.metadata.run_id, frame.run_id)
  assert.deepEqual(
    history.map(({ checkpoint, metadata }) => [checkpoint.checkpoint_id.length, metadata.source]),
    [
      [36, "loop"],
      [36, "input"],
    ],
  )
  assert.deepEqual(history[0], { ...state, parent_checkpoint: history[1]?.checkpoint })
})

interface ThreadState {
  readonly values: unknown
  readonly next: readonly string[]
  readonly tasks: readonly { readonly interrupts: readonly { readonly value: unknown }[] }[]
  readonly interrupts: unknown
  readonly metadata: Readonly<Record<string, unknown>>
  readonly checkpoint: { readonly thread_id: string; readonly checkpoint_id: string }
}

test("a Python node in a thread uses the store", { skip }, async () => {
  const { values } = await server.run("notes", { input: { note: "milk" } })

  assert.deepEqual((values as { found: unknown }).found, [{ text: "milk" }, 1, [["notes"]], null])
})

test("a Python node in a thread runs another graph, whose checkpoints are kept", { skip }, async () => {
  const { frame, values, error } = await server.run("caller", { input: { kind: "call" } })

  assert.deepEqual([error, values], [undefined, { kind: "tuple" }])
  const kept = server.checkpoints.saved.filter(({ threadId }) => threadId === frame.thread_id).map(({ ns }) => ns)
  assert.equal(kept.filter((ns) => ns === "").length, 3)
  assert.ok(kept.some((ns) => ns.startsWith("call:")))
})

test("a factory function creates a new Python graph for each use", { skip }, async () => {
  const { values } = await server.run("factory", { input: { n: 1 }, config: { configurable: { step: 5 } } })

  assert.deepEqual(values, { n: 6 })
})

test("a Python run's newest checkpoint has its writes in LangGraph's order", { skip }, () => {
  const program = `
from superstep_worker.checkpoints.newest_checkpoint import NewestCheckpoint
from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint

newest, checkpoint = NewestCheckpoint(), empty_checkpoint()
newest.set(CheckpointTuple({}, checkpoint, {}), [])
for task_id, task_path, *values in [("t2", "~b", "c", "d"), ("t1", "~b", "b"), ("t9", "", "a")]:
    newest.add_writes(checkpoint["id"], task_id, task_path, [("x", value) for value in values])
print("".join(value for _, _, value in newest.get().tuple.pending_writes))`

  const { stdout, stderr } = spawnSync(interpreter, ["-c", program], { cwd: worker, encoding: "utf8" })

  assert.equal(stdout.trim(), "abcd", stderr)
})
