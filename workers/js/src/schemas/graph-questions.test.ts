/** Requests about a graph: its drawing, its schemas, its subgraphs. */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { FakeServer } from "../testing/fake-server.js"
import { isSince, startWorker } from "../testing/worker.js"

let server: FakeServer
before(async () => {
  server = await startWorker("chat", "factory", "typed", "registered", "layered", "wrapped", "commonjs")
})
after(() => server[Symbol.asyncDispose]())

type Json = Record<string, unknown>
interface Drawing {
  readonly nodes: readonly { readonly id: string }[]
  readonly edges: readonly object[]
}

const ask = async <Answer>(fields: object) => (await server.ask(fields)) as Answer
const draw = (graph_id: string, xray: boolean | number) => ask<Drawing>({ method: "graph.draw", graph_id, xray })
const schemasOf = (graph_id: string) => ask<Record<string, Json | null>>({ method: "graph.schemas", graph_id })
const nodesOf = ({ nodes }: Drawing) => nodes.map(({ id }) => id)

test("a drawing has the nodes and edges of the graph", async () => {
  const { nodes, edges } = await draw("chat", false)

  assert.deepEqual(nodes.slice(1, 2), [
    {
      id: "model",
      type: "runnable",
      data: { id: ["langgraph", "RunnableCallable"], name: "model" },
      // Of @langchain/core 1.3 and newer.
      ...(isSince("1.7.0") ? { metadata: {} } : {}),
    },
  ])
  assert.deepEqual(edges, [
    { source: "__start__", target: "model", conditional: false },
    { source: "model", target: "__end__", conditional: false },
  ])
})

test("xray opens subgraphs, to the given depth", async () => {
  const [closed, one, all] = [await draw("layered", false), await draw("layered", 1), await draw("layered", true)]

  assert.deepEqual(nodesOf(closed), ["__start__", "typed", "plain", "__end__"])
  assert.ok(nodesOf(one).includes("typed:below") && nodesOf(one).includes("plain:one"))
  assert.ok(nodesOf(all).includes("typed:below:sink"), String(nodesOf(all)))
})

test("zod gives the schemas of a factory's graph, and its context", async () => {
  const { input_schema, output_schema, config_schema, context_schema } = await schemasOf("factory")

  assert.deepEqual(Object(input_schema?.properties).topic, { type: "string", description: "what to write on" })
  assert.equal(input_schema?.required, undefined)
  assert.deepEqual(output_schema?.required, ["topic", "count"])
  assert.deepEqual(Object(config_schema?.properties).model.enum, ["small", "large"])
  assert.deepEqual(context_schema, config_schema)
})

test("additions of a state schema or of the registry to a type are kept", async () => {
  const [typed, registered] = [await schemasOf("typed"), await schemasOf("registered")]
  const agent = await schemasOf("wrapped")

  for (const { input_schema } of [typed, registered, agent]) {
    assert.equal(Object(input_schema?.properties).messages.langgraph_type, "messages")
  }
  assert.equal(Object(typed.input_schema?.properties).log.type, "string")
  assert.equal(Object(typed.output_schema?.properties).log.type, "array")
})

test("a graph of annotations has no schemas at run time", async () => {
  assert.deepEqual(Object.values(await schemasOf("chat")), [null, null, null, null, null])
  assert.deepEqual(Object.values(await schemasOf("commonjs")), [null, null, null, null, null])
})

test("subgraphs are listed by namespace", async () => {
  const subgraphs = async (fields: object) =>
    Object.keys(await ask<Json>({ method: "graph.subgraphs", graph_id: "layered", recurse: false, ...fields }))

  assert.deepEqual(await subgraphs({}), ["typed", "plain"])
  assert.deepEqual(await subgraphs({ recurse: true }), ["typed", "typed|below", "plain"])
  assert.deepEqual(await subgraphs({ namespace: "typed" }), ["typed"])
  assert.deepEqual(await subgraphs({ namespace: "typed|below" }), ["typed|below"])
  assert.deepEqual(await subgraphs({ namespace: "typed", recurse: true }), ["typed", "typed|below"])
  assert.deepEqual(await subgraphs({ namespace: "typ", recurse: true }), [])
  const all = await ask<Record<string, Json>>({ method: "graph.subgraphs", graph_id: "layered", recurse: true })
  assert.equal(Object(all.typed?.input_schema).properties.messages.langgraph_type, "messages")
  assert.equal(all.plain?.input_schema, null)
})

test("a graph in a CommonJS file gets messages of its own classes", async () => {
  const thread_id = crypto.randomUUID()
  const input = { messages: [{ role: "user", content: "hello" }] }

  await server.run("commonjs", { thread_id, input })
  const { values } = await server.run("commonjs", { thread_id, input })

  assert.deepEqual(Object(values).known, [true, true])
})

test("an agent made by createAgent runs its tools", async () => {
  const { status, values } = await server.run("wrapped", { input: { messages: [{ role: "user", content: "1+2?" }] } })

  assert.deepEqual([status, Object(values).messages.at(-1).content], ["success", "The sum is 3."])
})
