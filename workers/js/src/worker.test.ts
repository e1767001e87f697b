/** A real worker process against a small server that speaks the protocol; W1 to W7 are its rules. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Received } from "./testing/fake-server.js"
import { inBothLanguages } from "./testing/languages.js"
import { workerMain } from "./testing/worker.js"

inBothLanguages(["nested", "builder", "odd", "slow", "factory"], ({ name, start, server }) => {
  test("W2: the values of a saved checkpoint, which may come after it, are sent again by the next attempt", async () => {
    const lost = { error: "Unavailable", message: "the second step is not saved" }
    const order = { thread_id: crypto.randomUUID(), run_id: crypto.randomUUID(), durability: "sync" } as const
    const run = { ...order, input: { n: 0 }, stream_modes: ["values"], config: { configurable: { tick_ms: 0 } } }
    server().refuse = (call) =>
      call.method === "checkpoint.put" && savedOf(order.thread_id).length === 3 ? lost : undefined
    const first = await server().run("slow", run)
    server().refuse = () => undefined

    const second = await server().run("slow", { ...run, attempt: 2 })

    assert.deepEqual([first.status, second.status], ["error", "success"])
    const values = (claimId: string) =>
      server().received.flatMap(({ header, payload }) =>
        header.type === "event" && header.claim_id === claimId ? [JSON.parse(payload.data ?? "")] : [],
      )
    assert.ok(values(first.frame.claim_id).length > 1)
    assert.deepEqual(values(second.frame.claim_id)[0], values(first.frame.claim_id).at(-1))
  })

  // In Python an error of a timer is only logged.
  for (const what of name === "Python" ? ["rejection"] : ["rejection", "timer"]) {
    test(`W5: an uncaught ${what} fails only its own run`, async () => {
      const neighbour = server().startRun("slow", { input: { n: 0 }, config: { configurable: { tick_ms: 20 } } })

      const { status, error } = await server().run("odd", { input: { what } })

      assert.equal(status, "error")
      assert.match(error?.message ?? "", /nobody awaits this|thrown by a timer/)
      assert.equal((await server().done(neighbour)).status, "success")
    })
  }

  test("W5: user code can end the process with an exit code", async () => {
    await using server = await start("odd")

    server.startRun("odd", { input: { what: "exit" } })

    assert.equal(await server.exit(), 3)
  })

  test("W7: frames are read while a run ignores its signal, and the load is reported", async () => {
    const frame = server().startRun("odd", { input: { what: "deaf" }, stream_modes: ["custom"] })
    await server().frame((received) => isEventOf(frame.claim_id, received))

    server().send({ type: "ping", nonce: "n1" })
    await server().frame(({ header }) => header.type === "pong" && header.nonce === "n1")
    for (const { busy, memory_mb } of await server().reports(2)) {
      assert.ok(busy >= 0 && busy <= 1, `busy: ${busy}`)
      assert.ok(memory_mb > 10 && memory_mb < 10_000, `memory_mb: ${memory_mb}`)
    }
    server().send({ type: "cancel", run_id: frame.run_id, claim_id: frame.claim_id })

    assert.equal((await server().done(frame)).status, "cancelled")
  })

  test("W7: frames are read while a run sends what a node has said at once", async () => {
    const frame = server().startRun("odd", { input: { what: "burst" }, stream_modes: ["custom"] })
    await server().frame((received) => isEventOf(frame.claim_id, received))

    server().send({ type: "ping", nonce: "n2" })
    await server().frame(({ header }) => header.type === "pong" && header.nonce === "n2")
    const before = server().events(frame.claim_id).length
    const { events, status } = await server().done(frame)

    assert.ok(before < 20_000, `${before} events were sent first`)
    assert.equal(status, "success")
    const numbers = events.map(({ data }) => Object(data).i)
    assert.deepEqual(
      numbers,
      Array.from({ length: 20_000 }, (_, i) => i),
    )
  })

  test("a slow server delays the run and loses no event", async () => {
    const goOn = server().pause()
    const frame = server().startRun("odd", { input: { what: "flood" }, stream_modes: ["custom"] })
    const quick = server().startRun("odd", { input: { what: "nothing" } })

    goOn()
    const { events, status } = await server().done(frame)

    assert.equal(status, "success")
    const numbers = events.map(({ data }) => Object(data).i)
    assert.deepEqual(
      numbers,
      Array.from({ length: 200 }, (_, i) => i),
    )
    assert.equal((await server().done(quick)).status, "success")
  })

  test("cancelling keeps the results of finished steps", async () => {
    const frame = server().startRun("slow", {
      input: { n: 3 },
      // Long enough that the cancel arrives in the middle of a step, also on a busy machine.
      config: { configurable: { tick_ms: 2000 } },
      stream_modes: ["values", "custom"],
    })
    await server().frame((received) => isEventOf(frame.claim_id, received) && received.payload.data === '{"tick":4}')

    server().send({ type: "cancel", run_id: frame.run_id, claim_id: frame.claim_id })
    const { status, values, next } = await server().done(frame)

    assert.deepEqual({ status, values, next }, { status: "cancelled", values: { n: 4 }, next: ["tick"] })
  })

  for (const durability of ["sync", "async", "exit"] as const) {
    test(`a run that is cancelled before its first step has saved its input (W11, durability ${durability})`, async () => {
      const config = { configurable: { tick_ms: 600_000 } }
      // One write, so the cancel is read before the graph has started.
      const frame = server().startRun("slow", { input: { n: 3 }, config, durability })
      server().send({ type: "cancel", run_id: frame.run_id, claim_id: frame.claim_id })

      const { status, values } = await server().done(frame)

      assert.deepEqual({ status, values }, { status: "cancelled", values: { n: 3 } })
      assert.ok(server().checkpoints.has(frame.thread_id))
    })
  }

  test("a run is cancelled while the factory of its graph waits", async () => {
    const config = { configurable: { making_ms: 600_000 } }
    const frame = server().startRun("factory", { command: { resume: "yes" }, config })

    server().send({ type: "cancel", run_id: frame.run_id, claim_id: frame.claim_id })

    assert.equal((await server().done(frame)).status, "cancelled")
  })

  test("a cancel for an unknown run is ignored", async () => {
    server().send({ type: "cancel", run_id: "nobody", claim_id: "nothing" })

    assert.equal((await server().run("builder", { input: { n: 1 } })).status, "success")
  })

  test("an invalid frame closes the connection with the reason", async () => {
    await using server = await start("chat")

    server.send({ type: "nonsense" })

    assert.notEqual(await server.exit(), 0)
    assert.match(server.errors(), /cannot understand a frame of type nonsense/)
  })

  test("a closed connection ends the process", async () => {
    const left = await start("chat")
    await left[Symbol.asyncDispose]()
    assert.notEqual(left.child.exitCode, null)
  })

  function isEventOf(claimId: string, { header }: Received): boolean {
    return header.type === "event" && header.claim_id === claimId
  }

  const savedOf = (thread: string) => server().checkpoints.saved.filter(({ threadId }) => threadId === thread)
})

test("a worker that is started manually prints its requirements", async () => {
  const { spawnSync } = await import("node:child_process")

  const { status, stderr } = spawnSync(process.execPath, [workerMain], { env: {} })

  assert.notEqual(status, 0)
  assert.match(String(stderr), /SUPERSTEP_WORKER_SOCKET and SUPERSTEP_WORKER_ID is not set/)
})
