/** Runs in the real Python worker: it behaves like the JavaScript worker. */
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { test } from "node:test"
import type { FakeServer, Received } from "./testing/fake-server.js"
import { eventsByNode } from "./testing/functional-graph.js"
import {
  interpreter,
  project,
  pythonGraphs,
  pythonOfFile,
  skip,
  startPythonWorker,
  worker,
} from "./testing/python-worker.js"

const load = async (started: FakeServer) => assert.deepEqual((await started.load(project, pythonGraphs)).failed, [])
const server = pythonOfFile(load)

const isAbout = (frame: Received, claimId: string) => "claim_id" in frame.header && frame.header.claim_id === claimId

test("events of a functional graph have the same names in Python and JavaScript", { skip }, async () => {
  const [deep, flat] = [await eventsByNode(server(), true), await eventsByNode(server(), false)]

  assert.deepEqual(deep, { messages: ["messages"], tools: ["tools|functional:<task>"] })
  assert.deepEqual(flat, { messages: ["messages"], tools: [] })
})

test("writes of a Python run may wait for others, unless it awaits them", { skip }, async () => {
  for (const [durability, mayWait] of [
    ["async", true],
    ["exit", true],
    ["sync", undefined],
  ] as const) {
    const { frame, status } = await server().run("hitl", { input: { x: 0 }, durability })

    const writes = server().received.flatMap(({ header }) =>
      header.type === "call" && "claim_id" in header && header.claim_id === frame.claim_id ? [header] : [],
    )
    assert.equal(status, "interrupted")
    assert.ok(writes.length > 0)
    assert.ok(writes.every((call) => Object(call).may_wait === mayWait))
  }
})

test("a rejected write that a Python run does not await fails the run", { skip }, async () => {
  const run = server().startRun("slow", { input: { n: 0 }, config: { configurable: { tick_ms: 3_600_000 } } })
  server().refuse = (call) =>
    "claim_id" in call && call.claim_id === run.claim_id ? { error: "InvalidInput", message: "too big" } : undefined

  const { status, error } = await server().done(run)

  server().refuse = () => undefined
  assert.deepEqual([status, error?.message], ["error", "too big"])
})

test("Python-only values are restored from a checkpoint unchanged", { skip }, async () => {
  const make = async (kind: string) => (await server().run("values", { input: { kind } })).values

  assert.deepEqual(await make("point"), { kind: "Point", value: { x: 1.5, y: null } })
  assert.deepEqual(await make("set"), { kind: "set", value: [1] })
  assert.deepEqual(await make("tuple"), { kind: "tuple", value: [1, 2] })
  assert.deepEqual(await make("bytes"), { kind: "bytes", value: "YWI=" })
  assert.deepEqual(await make("date"), { kind: "datetime", value: "2026-01-02T00:00:00+00:00" })
  assert.deepEqual(await make("keys"), { kind: "dict", value: { 1: "one" } })
})

test("a Python worker exits with its server, also when its output is not read", { skip }, async () => {
  const ending = await startPythonWorker()
  await load(ending)
  ending.child.stderr?.destroy()

  await ending[Symbol.asyncDispose]()

  assert.equal(await ending.exit(), 70)
})

test("a Python node that blocks its thread blocks neither pings nor its own cancellation (W7)", { skip }, async () => {
  const run = server().startRun("values", { input: { kind: "blocked" }, stream_modes: ["tasks"] })
  await server().frame((frame) => frame.header.type === "event" && isAbout(frame, run.claim_id))
  server().send({ type: "ping", nonce: "n" })
  await server().frame(({ header }) => header.type === "pong")

  server().send({ type: "cancel", run_id: run.run_id, claim_id: run.claim_id })

  assert.equal((await server().done(run)).status, "cancelled")
})

test("each Python node that blocks has its own thread, also when there are many", { skip }, async () => {
  const runs = Array.from({ length: 40 }, () => server().startRun("values", { input: { kind: "together" } }))

  const ends = await Promise.all(runs.map((run) => server().done(run)))

  assert.deepEqual([...new Set(ends.map(({ status }) => status))], ["success"])
})

test("a Python graph returns its drawing, schemas and subgraphs", { skip }, async () => {
  const ask = async (method: string, graph_id: string, fields: object = {}) =>
    Object(await server().ask({ method, graph_id, ...fields }))

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

test("a Python node in a thread uses the store", { skip }, async () => {
  const { values } = await server().run("notes", { input: { note: "milk" } })

  assert.deepEqual((values as { found: unknown }).found, [{ text: "milk" }, 1, [["notes"]], null])
})

test("a Python node leaves the time to live to the project, unless it names one", { skip }, async () => {
  const { frame } = await server().run("expiring_notes", { input: {} })

  const operations = server().received.flatMap(({ header, payload: { operations = "[]" } }) =>
    isAbout({ header, payload: {}, lines: [] }, frame.claim_id) ? (JSON.parse(operations) as object[]) : [],
  )
  const chosen = operations.map((each) =>
    Object.fromEntries(Object.entries(each).filter(([name]) => ["op", "ttl", "refresh_ttl"].includes(name))),
  )
  const [put, get] = [{ op: "put" }, { op: "get" }]
  const puts = [put, { ...put, ttl: null }, { ...put, ttl: 5 }]
  assert.deepEqual(chosen, [...puts, get, { op: "search" }, { ...get, refresh_ttl: false }, put])
})

test("a Python node uses the store on an event loop of its own", { skip }, async () => {
  const { values, error } = await server().run("notes_with_run", { input: { note: "milk" } })

  assert.deepEqual([error, Object(values).found], [undefined, [{ text: "milk" }]])
})

for (const [graphId, where] of [
  ["caller", "in a thread"],
  ["caller_with_run", "on an event loop of its own"],
] as const)
  test(`a Python node runs another graph ${where}, whose checkpoints are kept`, { skip }, async () => {
    const { frame, values, error } = await server().run(graphId, { input: { kind: "call" } })

    assert.deepEqual([error, values], [undefined, { kind: "tuple" }])
    const kept = server()
      .checkpoints.saved.filter(({ threadId }) => threadId === frame.thread_id)
      .map(({ ns }) => ns)
    assert.equal(kept.filter((ns) => ns === "").length, 3)
    assert.ok(kept.some((ns) => ns.startsWith("call:")))
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
