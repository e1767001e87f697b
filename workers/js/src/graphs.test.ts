/** User code in a real worker: its access to the run, and its output for clients. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { inBothLanguages } from "./testing/languages.js"

inBothLanguages(["chat", "slow", "echo", "nested", "memory", "unsaved", "notes", "odd"], ({ server }) => {
  test("the recursion limit of the run applies, else that of the graph", async () => {
    const limited = await server().run("slow", {
      input: { n: 0 },
      config: { configurable: { tick_ms: 0 }, recursion_limit: 2 },
    })
    const own = await server().run("echo", { input: { seen: null } })

    assert.equal(limited.error?.error, "GraphRecursionError")
    assert.equal(seen(own.values).recursionLimit, 31)
  })

  test("a node gets the run's config, context, store and signal", async () => {
    const config = { configurable: { model: "m1" }, metadata: { mk: "mv" }, tags: ["t1"], recursion_limit: 17 }

    const { values, frame } = await server().run("echo", { input: { seen: null }, config, context: { a: 1 } })

    const { configurable, metadata, ...rest } = seen(values)
    const { run_id, thread_id } = frame
    for (const [key, value] of Object.entries({ model: "m1", run_id, thread_id, graph_id: "echo" })) {
      assert.equal(Object(configurable)[key], value)
    }
    assert.equal(Object(metadata).mk, "mv")
    assert.equal(Object(metadata).run_attempt, 1)
    const expected = {
      context: { a: 1 },
      hasStore: true,
      hasSignal: true,
      hasWriter: true,
      tags: ["t1"],
      recursionLimit: 17,
    }
    assert.deepEqual(rest, expected)
  })

  test("a checkpoint's metadata has its run and the scalar values of its config", async () => {
    const config = { configurable: { model: "m1", __secret: "x", user: { id: 1 } }, metadata: { mk: "mv" } }

    const { frame } = await server().run("nested", { input: { log: [] }, config })

    const saved = server().checkpoints.saved.filter(({ threadId }) => threadId === frame.thread_id)
    const subgraph = saved.find(({ ns }) => ns !== "")
    assert.deepEqual(JSON.parse(subgraph?.metadata ?? "").step, -1)
    for (const { metadata } of saved) {
      const ofLangGraph = ["source", "step", "parents", "ls_integration", "langgraph_version"]
      const fields = Object.entries(JSON.parse(metadata)).filter(([field]) => !ofLangGraph.includes(field))
      const { run_id, thread_id } = frame
      const expected = { model: "m1", mk: "mv", run_id, thread_id, graph_id: "nested", run_attempt: 1 }
      assert.deepEqual(Object.fromEntries(fields), expected)
    }
  })

  test("internal keys of the config are never sent", async () => {
    const stream_modes = ["debug", "checkpoints", "tasks", "events", "messages-tuple", "messages"]
    const config = { configurable: { __secret: "hidden" } }
    const received = server().received.length

    await server().run("nested", { input: { log: [] }, stream_modes, stream_subgraphs: true, config })

    const leaks = server()
      .received.slice(received)
      .filter(({ lines }) => lines.some((line) => /"__(secret|pregel\w*)":/.test(line)))
    assert.deepEqual(
      leaks.map(({ header }) => header),
      [],
    )
  })

  test("the mode `messages` announces a message, sends it as it grows, and sends it when it is complete", async () => {
    const input = { messages: [{ role: "user", content: "hello" }] }

    const { events, status } = await server().run("chat", { input, stream_modes: ["messages"] })

    const of = (name: string) => events.filter(({ event }) => event === `messages/${name}`).map(({ data }) => data)
    const texts = (lists: unknown[]) => lists.flatMap((list) => (list as { content: string }[]).map((m) => m.content))
    assert.equal(status, "success")
    assert.deepEqual(texts(of("partial")), ["H", "Hi", "Hi!"])
    assert.deepEqual(texts(of("complete")), ["hello", "Hi!"])
    const [announced, ...more] = of("metadata")
    const [partial] = of("partial") as [{ id: string }][]
    assert.deepEqual([Object.keys(Object(announced)), more], [[partial?.[0].id], []])
  })

  test("concurrent runs of one shared graph keep their threads apart", async () => {
    const counts = Array.from({ length: 20 }, (_, n) => n)

    const runs = await Promise.all(
      counts.map((n) => server().run(n % 2 === 0 ? "memory" : "unsaved", { input: { n } })),
    )

    const values = runs.map(({ values }) => values)
    assert.deepEqual(
      values,
      counts.map((n) => ({ n: n + 1 })),
    )
    const unsaved = runs.filter(({ frame }) => !server().checkpoints.has(frame.thread_id))
    assert.deepEqual(unsaved, [])
  })

  test("a node can use the store", async () => {
    const received = server().received.length

    const { values, error } = await server().run("notes", { input: { note: "hi" } })

    assert.equal(error, undefined)
    assert.deepEqual(Object(values).found, [{ text: "hi" }, true, 1, null])
    assert.equal(
      server()
        .received.slice(received)
        .every(({ header }) => header.type !== "call" || "claim_id" in header),
      true,
    )
  })

  test("a model that is invoked without streaming still sends its message, with its tags", async () => {
    const { events } = await server().run("odd", { input: { what: "model" }, stream_modes: ["messages-tuple"] })

    const names = events.map(({ event }) => event)
    assert.deepEqual(names, ["messages"])
    const [message, metadata] = Object(events[0]?.data)
    assert.equal(message.content, "all at once")
    assert.equal(metadata.langgraph_node, "odd")
    assert.ok(metadata.tags.includes("aside"))
  })

  function seen(values: unknown): Record<string, unknown> {
    return Object(values).seen
  }
})
