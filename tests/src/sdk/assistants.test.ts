/** Every method of the official client's `assistants`, against a server process with real graphs and real Postgres. */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { RemoteGraph } from "@langchain/langgraph/remote"
import type { Client } from "@langchain/langgraph-sdk"
import type { Database } from "@superstep/toolkit/db/database"
import { type AgentServerProcess, agentDatabase, startAgentServer } from "../testing/agent-servers.js"

const config = fileURLToPath(new URL("../../graphs/assistants.json", import.meta.url))

let db: Database
let server: AgentServerProcess
let assistants: Client["assistants"]

before(async () => {
  db = await agentDatabase()
  server = await startAgentServer({
    databaseUri: db.uri,
    env: {
      SUPERSTEP_CONFIG: config,
      // The compiler takes seconds of a processor, and here it shares one with all other tests.
      LANGGRAPH_SCHEMA_RESOLVE_TIMEOUT_MS: "600000",
    },
  })
  assistants = server.client.assistants
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
  await db?.[Symbol.asyncDispose]()
})

const isNotFound = (error: unknown) => error instanceof Error && /^HTTP 404: .*Assistant not found/.test(error.message)

test("every graph has its system assistant, with what the project says of it", async () => {
  const found = await assistants.search({ metadata: { created_by: "system" }, sortBy: "graph_id", sortOrder: "asc" })
  const factory = await assistants.get("factory")

  assert.deepEqual(
    found.map(({ graph_id, name, version }) => [graph_id, name, version]),
    ["chat", "factory", "layered", "plain", "typed"].map((id) => [id, id, 1]),
  )
  assert.equal(found[0]?.description, "Says hi.")
  assert.deepEqual(factory.config, { configurable: { style: "dry" } })
  assert.deepEqual(factory.context, { model: "large" })
})

test("an assistant runs with its own configuration, until it is deleted with its threads", async () => {
  const { client } = server
  const made = await assistants.create({ graphId: "factory", context: { model: "small" } })
  const { thread_id } = await client.threads.create()

  const values = await client.runs.wait(thread_id, made.assistant_id, { input: { topic: "rain" } })
  const { metadata } = await client.threads.get(thread_id)
  await assistants.delete(made.assistant_id, { deleteThreads: true })

  assert.equal(Object(values).count, 1)
  assert.equal(Object(metadata).assistant_id, made.assistant_id)
  await assert.rejects(client.threads.get(thread_id), /HTTP 404/)
  await assert.rejects(client.runs.create(null, made.assistant_id, { input: {} }), /HTTP 404/)
})

test("a graph is drawn, with as many levels as the client asks for", async () => {
  const { assistant_id } = await assistants.get("layered")
  const idsOf = async (xray?: boolean | number) => {
    const { nodes } = await assistants.getGraph(assistant_id, xray === undefined ? {} : { xray })
    return nodes.map(({ id }) => String(id))
  }

  assert.deepEqual(await idsOf(), ["__start__", "typed", "plain", "__end__"])
  assert.ok((await idsOf(1)).includes("plain:one"))
  assert.ok(!(await idsOf(1)).includes("typed:below:sink"))
  assert.ok((await idsOf(true)).includes("typed:below:sink"))
  const { edges } = await assistants.getGraph("chat")
  assert.deepEqual(edges[0], { source: "__start__", target: "model", conditional: false })
})

const propertyOf = (schema: unknown, name: string) => Object(Object(schema).properties)[name]

test("schemas come from the graph where it tells them", async () => {
  const factory = await assistants.getSchemas("factory")
  const typed = await assistants.getSchemas("typed")

  assert.equal(factory.graph_id, "factory")
  assert.equal(propertyOf(factory.input_schema, "topic").description, "what to write on")
  assert.deepEqual(propertyOf(factory.config_schema, "model").enum, ["small", "large"])
  assert.deepEqual(factory.context_schema, factory.config_schema)
  assert.equal(propertyOf(typed.input_schema, "messages").langgraph_type, "messages")
})

test("schemas of annotations come from the source, in TypeScript and as far as they go in JavaScript", async () => {
  const [layered, again, plain] = await Promise.all([
    assistants.getSchemas("layered"),
    assistants.getSchemas("layered"),
    assistants.getSchemas("plain"),
  ])

  assert.deepEqual(layered, again)
  const { Task } = Object(layered.state_schema).definitions
  assert.deepEqual(Task.properties.title, { type: "string", description: "What is to be done." })
  assert.deepEqual(Task.properties.state, { type: "string", enum: ["open", "done"] })
  assert.deepEqual(Task.properties.parts, { type: "array", items: { $ref: "#/definitions/Task" } })
  assert.deepEqual(Task.required, ["title", "state", "parts"])
  assert.equal(Object(layered.state_schema).required, undefined)
  assert.equal(propertyOf(layered.input_schema, "messages").langgraph_type, "messages")
  assert.deepEqual(propertyOf(layered.context_schema, "model").enum, ["small", "large"])
  assert.deepEqual(propertyOf(plain.output_schema, "lines"), { type: "array", items: {} })
  const reads = server.log().match(/"graphs":\[[^\]]*"layered"[^\n]*read the schemas of graphs from their sources/g)
  // None, when the server of another test has stored them in the project before.
  assert.ok((reads?.length ?? 0) <= 1)
})

test("subgraphs are told by namespace, under the names of both kinds of server", async () => {
  const all = await assistants.getSubgraphs("layered", { recurse: true })
  const top = await assistants.getSubgraphs("layered")
  const one = await assistants.getSubgraphs("layered", { namespace: "typed|below" })
  const none = await assistants.getSubgraphs("chat")

  assert.deepEqual(Object.keys(all), ["typed", "typed|below", "plain"])
  assert.deepEqual(Object.keys(top), ["typed", "plain"])
  assert.deepEqual(Object.keys(one), ["typed|below"])
  assert.deepEqual(none, {})
  assert.deepEqual(propertyOf(Object(one["typed|below"]).state_schema, "depth"), { type: "number" })
  assert.deepEqual(Object(all.plain).state, Object(all.plain).state_schema)
  assert.equal(Object(all.typed).graph_id, "layered")
  assert.equal(propertyOf(Object(all.typed).input, "messages").langgraph_type, "messages")
})

test("a remote graph draws itself and knows its subgraphs", async () => {
  const { url, headers } = server
  const remote = new RemoteGraph({ graphId: "layered", url, headers: { ...headers } })

  const { nodes, edges } = await remote.getGraphAsync({ xray: true })
  const subgraphs: [string, string][] = []
  for await (const [name, graph] of remote.getSubgraphsAsync(undefined, true))
    subgraphs.push([name, Object(graph).graphId])

  assert.ok("typed:below:sink" in nodes, Object.keys(nodes).join())
  assert.ok(edges.length > 0)
  assert.deepEqual(
    subgraphs,
    ["typed", "typed|below", "plain"].map((name) => [name, "layered"]),
  )
})

test("what is malformed or unknown is refused with what was expected", async () => {
  const get = async (path: string) => {
    const reply = await fetch(`${server.url}/assistants/${path}`, { headers: server.headers })
    return [reply.status, Object(await reply.json()).detail]
  }

  for (const path of ["nope/graph", "nope/schemas", "nope/subgraphs", "nope/subgraphs/a", "%00/schemas"]) {
    assert.deepEqual(await get(path), [404, "Assistant not found"], path)
  }
  for (const xray of ["maybe", "-1", "1.5", "99999999999999999999", "1&xray=2"]) {
    const [status, detail] = await get(`chat/graph?xray=${xray}`)
    assert.equal(status, 422, xray)
    assert.match(String(detail), /query\.xray/)
  }
  for (const namespace of ["nope", "a%7Cb", "%00", "typ"]) {
    assert.deepEqual(await get(`layered/subgraphs/${namespace}`), [200, undefined], namespace)
  }
  await assert.rejects(assistants.update("nope", {}), isNotFound)
  await assert.rejects(assistants.delete("nope"), isNotFound)
  await assert.rejects(assistants.getVersions("nope"), isNotFound)
  await assert.rejects(assistants.setLatest("nope", 1), isNotFound)
  await assert.rejects(assistants.setLatest("chat", 99), /HTTP 404: .*Assistant version not found/)
  await assert.rejects(assistants.create({ graphId: "nope" }), /HTTP 404: .*Graph \\"nope\\" not found/)
  await assert.rejects(assistants.search({ limit: 0 }), /HTTP 422/)
})
