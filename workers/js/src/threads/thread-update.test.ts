/** Updates of a thread's state: computed by the graph, written only by the server. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { inBothLanguages } from "../testing/languages.js"

inBothLanguages(["chat", "hitl", "nested"], ({ server }) => {
  test("an update returns its checkpoint and the state after it, and writes nothing", async () => {
    const { frame } = await server().run("hitl", { input: { x: 1 } })
    const { thread_id } = frame
    const saved = server().checkpoints.saved.length

    const { header, lines } = await update("hitl", thread_id, [{ values: { y: "told" }, as_node: "ask" }])

    const [line] = checkpointLines(header, lines)
    const { source, step, run_id } = JSON.parse(line?.metadata ?? "")
    assert.deepEqual([source, step, run_id], ["update", 1, undefined])
    assert.deepEqual(JSON.parse(lines[0] ?? ""), { x: 1, y: "told" })
    assert.equal(lines[1], "{}")
    assert.equal(Object(header.checkpoint).thread_id, thread_id)
    assert.equal(Object(header.checkpoint).checkpoint_id, header.puts?.find(({ blobs }) => blobs)?.checkpoint_id)
    assert.equal(server().checkpoints.saved.length, saved)
  })

  test("several super-steps starting with an input follow each other, although none of them is saved", async () => {
    const thread_id = crypto.randomUUID()
    const said = (content: string) => ({ messages: [{ type: "human", id: content, content }] })

    const { header, lines } = await update(
      "chat",
      thread_id,
      [{ values: said("a"), as_node: "__input__" }],
      [{ values: said("a"), as_node: "__start__" }],
      [{ values: said("b"), as_node: "model" }],
      [{ command: { update: said("c") }, as_node: "model" }],
    )

    const { messages } = JSON.parse(lines[0] ?? "")
    const contents = messages.map(({ content }: { content: string }) => content)
    assert.deepEqual(contents, ["a", "b", "c"])
    const made = header.puts?.filter(({ blobs }) => blobs) ?? []
    const parents = made.map(({ parent_checkpoint_id }) => parent_checkpoint_id)
    assert.deepEqual(parents, [undefined, made[0]?.checkpoint_id, made[1]?.checkpoint_id, made[2]?.checkpoint_id])
    const sources = checkpointLines(header, lines).map(({ metadata }) => JSON.parse(metadata).source)
    assert.deepEqual(sources, ["input", "update", "update", "update"])
  })

  test("a checkpoint is copied, and a thread forks at an earlier one", async () => {
    const { frame } = await server().run("nested", { input: { log: ["a"] } })
    const { thread_id } = frame
    const roots = server().checkpoints.saved.filter((each) => each.threadId === thread_id && each.ns === "")
    const checkpoint_id = roots.find(({ metadata }) => JSON.parse(metadata).step === 1)?.id ?? ""

    const copied = await call("nested", { thread_id, checkpoint_id }, [[{ values: null, as_node: "__copy__" }]])
    const forked = await call("nested", { thread_id, checkpoint_id }, [[{ values: { log: ["b"] }, as_node: "first" }]])

    const [copy] = checkpointLines(copied.header, copied.lines)
    assert.equal(JSON.parse(copy?.metadata ?? "").source, "fork")
    assert.deepEqual(JSON.parse(copied.lines[0] ?? "").log, ["a", "first"])
    assert.deepEqual(JSON.parse(forked.lines[0] ?? "").log, ["a", "first", "b"])
  })

  test("an update that the graph rejects fails with LangGraph's error", async () => {
    const { frame } = await server().run("hitl", { input: { x: 1 } })

    await assert.rejects(
      update("hitl", frame.thread_id, [{ values: {}, as_node: "nobody" }]),
      /^Error: InvalidUpdateError/,
    )
  })

  test("a state has the requested fields", async () => {
    const { frame } = await server().run("hitl", { input: { x: 1 } })
    const question = { method: "graph.state", graph_id: "hitl", thread_id: frame.thread_id, checkpoint_ns: "" }
    const ask = (...select: string[]) => server().ask({ ...question, subgraphs: false, select })

    assert.deepEqual(await ask("next"), { next: ["ask"] })
    assert.deepEqual(await ask("values", "values.x"), { values: { x: 1 } })
    assert.deepEqual(await ask("values.x", "values.none", "next"), { values: { x: 1 }, next: ["ask"] })
  })

  const update = (graph_id: string, thread_id: string, ...supersteps: object[][]) =>
    call(graph_id, { thread_id }, supersteps)

  function call(graph_id: string, place: object, supersteps: readonly (readonly object[])[]) {
    const fields = { method: "graph.update_state", graph_id, checkpoint_ns: "", ...place }
    return server().call(fields, { config: "", supersteps: JSON.stringify(supersteps.map((updates) => ({ updates }))) })
  }

  /** The first two lines of each gathered checkpoint. */
  function checkpointLines({ payload = [] }: { payload?: readonly string[] }, lines: readonly string[]) {
    return payload.flatMap((name, n) =>
      name === "checkpoint" ? [{ checkpoint: lines[n] ?? "", metadata: lines[n + 1] ?? "" }] : [],
    )
  }
})
