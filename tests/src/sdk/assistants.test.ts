/** Schemas and subgraphs, which come from the sources of real graphs; compatibility/ calls each method of `client.assistants`. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { serverForAll } from "../testing/agent-servers.js"

const config = fileURLToPath(new URL("../../graphs/assistants.json", import.meta.url))

// The compiler takes seconds of a processor, and here it shares one with all other tests.
const env = { SUPERSTEP_CONFIG: config, LANGGRAPH_SCHEMA_RESOLVE_TIMEOUT_MS: "600000" }
const server = serverForAll({ env })

const propertyOf = (schema: unknown, name: string) => Object(Object(schema).properties)[name]

test("schemas of annotations come from the source, in TypeScript and as far as they go in JavaScript", async () => {
  const { assistants } = server.client
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
  const { assistants } = server.client
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
