/** A real worker process against a small server that speaks the protocol; W1 to W7 are its rules. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { FakeServer, Received } from "./testing/fake-server.js"
import { startWorker, workerMain } from "./testing/worker.js"

test("a thread without checkpoints is not asked about", async () => {
  await using server = await startWorker("nested")

  const { status } = await server.run("nested", { input: { log: [] }, has_checkpoint: false })

  assert.equal(status, "success")
  assert.deepEqual(calls(server, "checkpoint.get"), [])
})

test("the end of a run costs no question", async () => {
  await using server = await startWorker("builder")
  const thread_id = crypto.randomUUID()
  await server.run("builder", { thread_id, input: { n: 1 } })

  const { values } = await server.run("builder", { thread_id, input: { n: 5 } })

  assert.deepEqual(values, { n: 6 })
  assert.equal(calls(server, "checkpoint.get").length, 1)
})

test("W1: a run's frames come between its `run` and its `done`", async () => {
  await using server = await startWorker("slow")
  const frame = server.startRun("slow", {
    input: { n: 0 },
    config: { configurable: { tick_ms: 60_000 } },
    stream_modes: ["custom"],
  })
  await server.frame(({ header }) => header.type === "event")
  server.send({ type: "cancel", run_id: frame.run_id, claim_id: frame.claim_id })
  await server.done(frame)

  // Whatever the cancelled run still does has its time until another run has come and gone.
  await server.run("slow", { input: { n: 4 }, config: { configurable: { tick_ms: 0 } } })

  const own = server.received.filter(({ header }) => "claim_id" in header && header.claim_id === frame.claim_id)
  assert.equal(own.at(-1)?.header.type, "done")
})

for (const durability of ["sync", "async"] as const) {
  test(`W2: an event goes before the checkpoint that it led to (${durability})`, async () => {
    await using server = await startWorker("agent", "nested")
    const stream_modes = ["updates", "messages-tuple", "tasks", "custom"]

    const frames = [
      (await server.run("agent", { input: { messages: [] }, stream_modes, durability })).frame,
      (await server.run("nested", { input: { log: [] }, stream_modes, stream_subgraphs: true, durability })).frame,
    ]

    for (const { claim_id } of frames) assert.deepEqual(lateUpdates(server, claim_id), [])
  })
}

test("W3: `done` follows all writes", async () => {
  await using server = await startWorker("chat")

  const { frame } = await server.run("chat", { input: { messages: [] }, stream_modes: [] })

  const last = server.received.findLastIndex(({ header }) => header.type === "call")
  const done = server.received.findIndex(({ header }) => header.type === "done" && header.claim_id === frame.claim_id)
  assert.ok(last < done)
  const steps = server.checkpoints.saved.map(({ metadata }) => JSON.parse(metadata).step)
  assert.deepEqual(steps, [-1, 0, 1])
})

test("W4: after ClaimLost nothing more is sent for the run", async () => {
  await using server = await startWorker("slow")
  const lost = { error: "ClaimLost", message: "the run has moved on" }
  server.refuse = (call) =>
    call.method === "checkpoint.put" && server.checkpoints.saved.length >= 2 ? lost : undefined
  const frame = server.startRun("slow", { input: { n: 0 }, config: { configurable: { tick_ms: 20 } } })
  await server.frame(({ header }) => header.type === "call" && server.checkpoints.saved.length >= 2)
  server.refuse = (call) => ("claim_id" in call && call.claim_id === frame.claim_id ? lost : undefined)
  await server.frame(({ header }) => header.type === "call" && calls(server, "checkpoint.put").length >= 3)

  const other = await server.run("slow", { input: { n: 4 }, config: { configurable: { tick_ms: 200 } } })

  assert.equal(other.status, "success")
  const dones = server.received.filter(({ header }) => header.type === "done")
  assert.deepEqual(
    dones.map(({ header }) => header.type === "done" && header.claim_id),
    [other.frame.claim_id],
  )
  assert.equal(server.child.exitCode, null)
})

for (const what of ["rejection", "timer"]) {
  test(`W5: a ${what} that nobody catches ends its run and no other`, async () => {
    await using server = await startWorker("odd", "slow")
    const neighbour = server.startRun("slow", { input: { n: 0 }, config: { configurable: { tick_ms: 20 } } })

    const { status, error } = await server.run("odd", { input: { what } })

    assert.equal(status, "error")
    assert.match(error?.message ?? "", /nobody awaits this|thrown by a timer/)
    assert.equal((await server.done(neighbour)).status, "success")
  })
}

test("W5: user code that ends the process ends it with its code", async () => {
  await using server = await startWorker("odd")

  server.startRun("odd", { input: { what: "exit" } })

  assert.equal(await server.exit(), 3)
})

test("W7: frames are read while a run ignores its signal", async () => {
  await using server = await startWorker("odd")
  const frame = server.startRun("odd", { input: { what: "deaf" }, stream_modes: ["custom"] })
  await server.frame(({ header }) => header.type === "event")

  server.send({ type: "ping", nonce: "n1" })
  await server.frame(({ header }) => header.type === "pong" && header.nonce === "n1")
  server.send({ type: "cancel", run_id: frame.run_id, claim_id: frame.claim_id })

  assert.equal((await server.done(frame)).status, "cancelled")
})

test("a server that reads slowly holds the run back and loses nothing", async () => {
  await using server = await startWorker("odd")
  const goOn = server.pause()
  const frame = server.startRun("odd", { input: { what: "flood" }, stream_modes: ["custom"] })
  const quick = server.startRun("odd", { input: { what: "nothing" } })

  goOn()
  const { events, status } = await server.done(frame)

  assert.equal(status, "success")
  assert.deepEqual(
    events.map(({ data }) => Object(data).i),
    Array.from({ length: 200 }, (_, i) => i),
  )
  assert.equal((await server.done(quick)).status, "success")
})

test("cancelling keeps what the finished steps made", async () => {
  await using server = await startWorker("slow")
  const frame = server.startRun("slow", {
    input: { n: 3 },
    // Long enough that the cancel comes in the middle of a step, on a busy machine too.
    config: { configurable: { tick_ms: 2000 } },
    stream_modes: ["values", "custom"],
  })
  await server.frame(({ header, payload }) => header.type === "event" && payload.data === '{"tick":4}')

  server.send({ type: "cancel", run_id: frame.run_id, claim_id: frame.claim_id })
  const { status, values, next } = await server.done(frame)

  assert.deepEqual({ status, values, next }, { status: "cancelled", values: { n: 4 }, next: ["tick"] })
})

test("a cancel for a run that is not there is ignored", async () => {
  await using server = await startWorker("builder")

  server.send({ type: "cancel", run_id: "nobody", claim_id: "nothing" })

  assert.equal((await server.run("builder", { input: { n: 1 } })).status, "success")
})

test("an error of a node is the run's, with the state before it", async () => {
  await using server = await startWorker("error")

  const { status, error, values, next } = await server.run("error", { input: { x: 0 } })

  assert.equal(status, "error")
  assert.deepEqual(error, { error: "TypeError", message: "node exploded" })
  assert.deepEqual({ values, next }, { values: { x: 1 }, next: ["boom"] })
})

test("a graph that is not there is an error of the run", async () => {
  await using server = await startWorker("chat")

  const { status, error } = await server.run("nobody", { input: {} })

  assert.deepEqual(
    { status, error },
    { status: "error", error: { error: "Error", message: 'there is no graph "nobody"' } },
  )
})

test("a method that is not known is answered so", async () => {
  await using server = await startWorker("chat")

  await assert.rejects(server.ask({ method: "graph.dance", graph_id: "chat" }), /UnknownMethod/)
})

test("a frame that cannot be understood closes the connection and says why", async () => {
  await using server = await startWorker("chat")

  server.send({ type: "nonsense" })

  assert.notEqual(await server.exit(), 0)
  assert.match(server.errors(), /cannot understand a frame of type nonsense/)
})

test("`stop` ends the process at once, and so does a server that is gone", async () => {
  await using stopped = await startWorker("chat")
  stopped.send({ type: "stop" })
  assert.equal(await stopped.exit(), 0)

  const left = await startWorker("chat")
  await left[Symbol.asyncDispose]()
  assert.notEqual(left.child.exitCode, null)
})

test("a worker that is started by hand says what it needs", async () => {
  const { spawnSync } = await import("node:child_process")

  const { status, stderr } = spawnSync(process.execPath, [workerMain], { env: {} })

  assert.notEqual(status, 0)
  assert.match(String(stderr), /SUPERSTEP_WORKER_SOCKET and SUPERSTEP_WORKER_ID is not set/)
})

function calls(server: FakeServer, method: string): Received[] {
  return server.received.filter(({ header }) => header.type === "call" && header.method === method)
}

/** `updates` of a step that came after the checkpoint which holds that step. */
function lateUpdates(server: FakeServer, claimId: string): string[] {
  const late: string[] = []
  let openTasks = new Set<string>()
  for (const { header, payload } of server.received) {
    if (!("claim_id" in header) || header.claim_id !== claimId) continue
    if (header.type === "event" && header.event.startsWith("tasks")) {
      const task = JSON.parse(payload.data ?? "")
      if ("result" in task) openTasks.delete(task.id)
      else openTasks = new Set([...openTasks, task.id])
    }
    if (header.type === "call" && header.method === "checkpoint.put_writes") {
      // Writes are saved when their task is over, and that has been told by then.
      for (const { task_id } of header.writes) if (openTasks.has(task_id)) late.push(task_id)
    }
  }
  return late
}
