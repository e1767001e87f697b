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
      shared = await start("nested", "builder", "agent", "chat", "error", "odd", "slow")
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

    test("W1: a run's frames are sent between its `run` and its `done`", async () => {
      const frame = shared.startRun("slow", {
        input: { n: 0 },
        config: { configurable: { tick_ms: 60_000 } },
        stream_modes: ["custom"],
      })
      await shared.frame((received) => isEventOf(frame.claim_id, received))
      shared.send({ type: "cancel", run_id: frame.run_id, claim_id: frame.claim_id })
      await shared.done(frame)

      // Another run is executed to give the cancelled run time to send something wrongly.
      await shared.run("slow", { input: { n: 4 }, config: { configurable: { tick_ms: 0 } } })

      const own = shared.received.filter(({ header }) => "claim_id" in header && header.claim_id === frame.claim_id)
      assert.equal(own.at(-1)?.header.type, "done")
    })

    for (const durability of ["sync", "async"] as const) {
      test(`W2: a task's events are sent before the writes that save its result (${durability})`, async () => {
        const stream_modes = ["values", "updates", "messages-tuple", "tasks", "custom"]
        const agent = { input: { messages: [] }, stream_modes, durability }

        const frames = [
          (await shared.run("agent", agent)).frame,
          (await shared.run("agent", { ...agent, protocol_events: true, stream_subgraphs: true })).frame,
          (await shared.run("nested", { input: { log: [] }, stream_modes, stream_subgraphs: true, durability })).frame,
        ]

        for (const { claim_id } of frames) {
          const { kinds, late } = taskEvents(shared, claim_id)
          assert.deepEqual(late, [])
          assert.ok(["tasks", "updates"].every((kind) => kinds.has(kind)))
        }
      })
    }

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

    test("W3: `done` follows all writes", async () => {
      const { frame } = await shared.run("chat", { input: { messages: [] }, stream_modes: [] })

      const isCall = ({ header }: Received) =>
        header.type === "call" && "claim_id" in header && header.claim_id === frame.claim_id
      const last = shared.received.findLastIndex(isCall)
      const done = shared.received.findIndex(
        ({ header }) => header.type === "done" && header.claim_id === frame.claim_id,
      )
      assert.ok(last >= 0)
      assert.ok(last < done)
      const steps = savedOf(frame.thread_id).map(({ metadata }) => JSON.parse(metadata).step)
      assert.deepEqual(steps, [-1, 0, 1])
    })

    test("W4: after ClaimLost nothing else is sent for the run", async () => {
      const lost = { error: "ClaimLost", message: "the run has moved on" }
      const thread_id = crypto.randomUUID()
      const isOurs = (call: object) => "thread_id" in call && call.thread_id === thread_id
      shared.refuse = (call) =>
        call.method === "checkpoint.put" && isOurs(call) && savedOf(thread_id).length >= 2 ? lost : undefined
      const frame = shared.startRun("slow", { thread_id, input: { n: 0 }, config: { configurable: { tick_ms: 20 } } })
      await shared.frame(({ header }) => header.type === "call" && savedOf(thread_id).length >= 2)
      shared.refuse = (call) => ("claim_id" in call && call.claim_id === frame.claim_id ? lost : undefined)
      await shared.frame(() => callsAbout(shared, thread_id, "checkpoint.put").length >= 3)

      const other = await shared.run("slow", { input: { n: 4 }, config: { configurable: { tick_ms: 200 } } })
      shared.refuse = () => undefined

      assert.equal(other.status, "success")
      const dones = shared.received.flatMap(({ header }) => (header.type === "done" ? [header.claim_id] : []))
      assert.deepEqual([dones.includes(frame.claim_id), dones.includes(other.frame.claim_id)], [false, true])
      assert.equal(shared.child.exitCode, null)
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

    test("an error of a node fails the run, with the state before the node", async () => {
      const { status, error, values, next } = await shared.run("error", { input: { x: 0 } })

      assert.equal(status, "error")
      assert.deepEqual(error, { error: "TypeError", message: "node exploded" })
      assert.deepEqual({ values, next }, { values: { x: 1 }, next: ["boom"] })
    })

    test("an unknown graph is an error of the run", async () => {
      const { status, error } = await shared.run("nobody", { input: {} })

      assert.deepEqual({ status, message: error?.message }, { status: "error", message: 'there is no graph "nobody"' })
    })

    test("a call of an unknown method is an error", async () => {
      await assert.rejects(shared.ask({ method: "graph.dance", graph_id: "chat" }), /UnknownMethod/)
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

    /** The kinds of a run's events that belong to a task, and the events that came after the writes of their task. */
    function taskEvents(server: FakeServer, claimId: string) {
      const [kinds, saved, late] = [new Set<string>(), new Set<string>(), [] as string[]]
      const taskOfNode = new Map<string, string>()
      for (const { header, payload } of server.received) {
        if (!("claim_id" in header) || header.claim_id !== claimId) continue
        if (header.type === "call" && header.method === "checkpoint.put_writes") {
          for (const { task_id } of header.writes) saved.add(task_id)
        }
        if (header.type !== "event") continue
        const [kind = ""] = header.event.split("|")
        const data = JSON.parse(payload.data ?? "")
        if (kind === "tasks") taskOfNode.set(data.name, data.id)
        const tasks: Readonly<Record<string, () => unknown[]>> = {
          tasks: () => [data.id],
          updates: () => Object.keys(data).map((node) => taskOfNode.get(node)),
          messages: () => [data[1].langgraph_checkpoint_ns.split(":").at(-1)],
        }
        for (const task of tasks[kind]?.() ?? []) {
          kinds.add(kind)
          if (saved.has(String(task))) late.push(`${header.event} of ${task}`)
        }
      }
      return { kinds, late }
    }
  })
}

test("a worker that is started manually prints its requirements", async () => {
  const { spawnSync } = await import("node:child_process")

  const { status, stderr } = spawnSync(process.execPath, [workerMain], { env: {} })

  assert.notEqual(status, 0)
  assert.match(String(stderr), /SUPERSTEP_WORKER_SOCKET and SUPERSTEP_WORKER_ID is not set/)
})
