/** A real worker process against a small server that speaks the protocol; W1 to W7 are its rules. */
import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import type { FakeServer, Received } from "./testing/fake-server.js"
import { languages } from "./testing/languages.js"
import { workerMain } from "./testing/worker.js"

for (const { name, skip, start } of languages) {
  describe(`in ${name}`, { skip }, () => {
    // A worker for tests that do not change it. Loading LangGraph takes as long as all their runs.
    let shared: FakeServer
    before(async () => {
      shared = await start("nested", "builder", "odd", "slow")
    })
    after(() => shared?.[Symbol.asyncDispose]())

    test("no request is sent for a thread without checkpoints", async () => {
      const { status, frame } = await shared.run("nested", { input: { log: [] }, has_checkpoint: false })

      assert.equal(status, "success")
      assert.deepEqual(callsAbout(shared, frame.thread_id, "checkpoint.get"), [])
    })

    test("the end of a run needs no request", async () => {
      const thread_id = crypto.randomUUID()
      await shared.run("builder", { thread_id, input: { n: 1 } })

      const { values } = await shared.run("builder", { thread_id, input: { n: 5 } })

      assert.deepEqual(values, { n: 6 })
      assert.equal(callsAbout(shared, thread_id, "checkpoint.get").length, 1)
    })

    test("W2: the values of a saved checkpoint, which may come after it, are sent again by the next attempt", async () => {
      const lost = { error: "Unavailable", message: "the second step is not saved" }
      const order = { thread_id: crypto.randomUUID(), run_id: crypto.randomUUID(), durability: "sync" } as const
      const run = { ...order, input: { n: 0 }, stream_modes: ["values"], config: { configurable: { tick_ms: 0 } } }
      shared.refuse = (call) =>
        call.method === "checkpoint.put" && savedOf(order.thread_id).length === 3 ? lost : undefined
      const first = await shared.run("slow", run)
      shared.refuse = () => undefined

      const second = await shared.run("slow", { ...run, attempt: 2 })

      assert.deepEqual([first.status, second.status], ["error", "success"])
      const values = (claimId: string) =>
        shared.received.flatMap(({ header, payload }) =>
          header.type === "event" && header.claim_id === claimId ? [JSON.parse(payload.data ?? "")] : [],
        )
      assert.ok(values(first.frame.claim_id).length > 1)
      assert.deepEqual(values(second.frame.claim_id)[0], values(first.frame.claim_id).at(-1))
    })

    // In Python an error of a timer is only logged.
    for (const what of name === "Python" ? ["rejection"] : ["rejection", "timer"]) {
      test(`W5: an uncaught ${what} fails only its own run`, async () => {
        const neighbour = shared.startRun("slow", { input: { n: 0 }, config: { configurable: { tick_ms: 20 } } })

        const { status, error } = await shared.run("odd", { input: { what } })

        assert.equal(status, "error")
        assert.match(error?.message ?? "", /nobody awaits this|thrown by a timer/)
        assert.equal((await shared.done(neighbour)).status, "success")
      })
    }

    test("W5: user code can end the process with an exit code", async () => {
      await using server = await start("odd")

      server.startRun("odd", { input: { what: "exit" } })

      assert.equal(await server.exit(), 3)
    })

    test("W7: frames are read while a run ignores its signal, and the load is reported", async () => {
      const frame = shared.startRun("odd", { input: { what: "deaf" }, stream_modes: ["custom"] })
      await shared.frame((received) => isEventOf(frame.claim_id, received))

      shared.send({ type: "ping", nonce: "n1" })
      await shared.frame(({ header }) => header.type === "pong" && header.nonce === "n1")
      for (const { busy, memory_mb } of await shared.reports(2)) {
        assert.ok(busy >= 0 && busy <= 1, `busy: ${busy}`)
        assert.ok(memory_mb > 10 && memory_mb < 10_000, `memory_mb: ${memory_mb}`)
      }
      shared.send({ type: "cancel", run_id: frame.run_id, claim_id: frame.claim_id })

      assert.equal((await shared.done(frame)).status, "cancelled")
    })

    test("W7: frames are read while a run sends what a node has said at once", async () => {
      const frame = shared.startRun("odd", { input: { what: "burst" }, stream_modes: ["custom"] })
      await shared.frame((received) => isEventOf(frame.claim_id, received))

      shared.send({ type: "ping", nonce: "n2" })
      await shared.frame(({ header }) => header.type === "pong" && header.nonce === "n2")
      const before = shared.events(frame.claim_id).length
      const { events, status } = await shared.done(frame)

      assert.ok(before < 20_000, `${before} events were sent first`)
      assert.equal(status, "success")
      assert.deepEqual(
        events.map(({ data }) => Object(data).i),
        Array.from({ length: 20_000 }, (_, i) => i),
      )
    })

    test("a slow server delays the run and loses no event", async () => {
      const goOn = shared.pause()
      const frame = shared.startRun("odd", { input: { what: "flood" }, stream_modes: ["custom"] })
      const quick = shared.startRun("odd", { input: { what: "nothing" } })

      goOn()
      const { events, status } = await shared.done(frame)

      assert.equal(status, "success")
      assert.deepEqual(
        events.map(({ data }) => Object(data).i),
        Array.from({ length: 200 }, (_, i) => i),
      )
      assert.equal((await shared.done(quick)).status, "success")
    })

    test("cancelling keeps the results of finished steps", async () => {
      const frame = shared.startRun("slow", {
        input: { n: 3 },
        // Long enough that the cancel arrives in the middle of a step, also on a busy machine.
        config: { configurable: { tick_ms: 2000 } },
        stream_modes: ["values", "custom"],
      })
      await shared.frame((received) => isEventOf(frame.claim_id, received) && received.payload.data === '{"tick":4}')

      shared.send({ type: "cancel", run_id: frame.run_id, claim_id: frame.claim_id })
      const { status, values, next } = await shared.done(frame)

      assert.deepEqual({ status, values, next }, { status: "cancelled", values: { n: 4 }, next: ["tick"] })
    })

    for (const durability of ["sync", "async", "exit"] as const) {
      test(`a run that is cancelled before its first step has saved its input (W11, durability ${durability})`, async () => {
        const config = { configurable: { tick_ms: 600_000 } }
        // One write, so the cancel is read before the graph has started.
        const frame = shared.startRun("slow", { input: { n: 3 }, config, durability })
        shared.send({ type: "cancel", run_id: frame.run_id, claim_id: frame.claim_id })

        const { status, values } = await shared.done(frame)

        assert.deepEqual({ status, values }, { status: "cancelled", values: { n: 3 } })
        assert.ok(shared.checkpoints.has(frame.thread_id))
      })
    }

    test("a cancel for an unknown run is ignored", async () => {
      shared.send({ type: "cancel", run_id: "nobody", claim_id: "nothing" })

      assert.equal((await shared.run("builder", { input: { n: 1 } })).status, "success")
    })

    test("an unknown graph is an error of the run", async () => {
      const { status, error } = await shared.run("nobody", { input: {} })

      assert.deepEqual({ status, message: error?.message }, { status: "error", message: 'there is no graph "nobody"' })
    })

    test("a call of an unknown method is an error", async () => {
      await assert.rejects(shared.ask({ method: "graph.dance", graph_id: "builder" }), /UnknownMethod/)
    })

    test("an invalid frame closes the connection with the reason", async () => {
      await using server = await start("chat")

      server.send({ type: "nonsense" })

      assert.notEqual(await server.exit(), 0)
      assert.match(server.errors(), /cannot understand a frame of type nonsense/)
    })

    test("`stop` ends the process at once, and so does a closed connection", async () => {
      await using stopped = await start("chat")
      stopped.send({ type: "stop" })
      assert.equal(await stopped.exit(), 0)

      const left = await start("chat")
      await left[Symbol.asyncDispose]()
      assert.notEqual(left.child.exitCode, null)
    })

    function isEventOf(claimId: string, { header }: Received): boolean {
      return header.type === "event" && header.claim_id === claimId
    }

    function calls(server: FakeServer, method: string): Received[] {
      return server.received.filter(({ header }) => header.type === "call" && header.method === method)
    }

    const savedOf = (thread: string) => shared.checkpoints.saved.filter(({ threadId }) => threadId === thread)

    /** The calls about one thread. */
    function callsAbout(server: FakeServer, threadId: string, method: string): Received[] {
      return calls(server, method).filter(({ header }) => "thread_id" in header && header.thread_id === threadId)
    }
  })
}

test("a worker that is started manually prints its requirements", async () => {
  const { spawnSync } = await import("node:child_process")

  const { status, stderr } = spawnSync(process.execPath, [workerMain], { env: {} })

  assert.notEqual(status, 0)
  assert.match(String(stderr), /SUPERSTEP_WORKER_SOCKET and SUPERSTEP_WORKER_ID is not set/)
})
