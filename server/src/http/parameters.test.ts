import assert from "node:assert/strict"
import { test } from "node:test"
import { addRoute, createApi } from "@superstep/toolkit/http/route"
import { z } from "zod"
import { freshHttp } from "../testing/test-http.js"
import { jsonObject, plainText, queryList } from "./parameters.js"

const modes = queryList(z.enum(["values", "updates"]))

test("a list in a query may be repeated keys, a JSON list or a comma-separated list", () => {
  const both = ["values", "updates"]

  for (const value of [both, '["values","updates"]', "values,updates", ["values", "updates,"]]) {
    assert.deepEqual(modes.parse(value), both)
  }
  assert.deepEqual(modes.parse("values"), ["values"])
  for (const none of [undefined, "", "[]", ","]) assert.equal(modes.parse(none), undefined)
})

test("an invalid entry of a list is rejected with a message", () => {
  for (const wrong of ["other", '["values",7]', "[values", '{"a":1}', "[null]", ["values", "x"]]) {
    const { success, error } = modes.safeParse(wrong)

    assert.equal(success, false, String(wrong))
    assert.match(error?.issues[0]?.message ?? "", /values/)
  }
})

test("the OpenAPI document describes a list in a query as a list", () => {
  const api = createApi()
  const query = z.object({ stream_mode: modes })
  addRoute(api, { method: "get", path: "/x", summary: "", query, responses: {}, handle: ({ c }) => c.text("") })

  const document = api.getOpenAPI31Document({ openapi: "3.1.0", info: { title: "", version: "" } })

  const [parameter] = document.paths?.["/x"]?.get?.parameters ?? []
  assert.ok(parameter && "schema" in parameter)
  assert.deepEqual(parameter.schema, { type: "array", items: { type: "string" } })
})

test("text that Postgres cannot store is rejected", () => {
  for (const bad of ["a\0b", "\ud800", "x\udc00", "\udc00\ud800"]) assert.equal(plainText.safeParse(bad).success, false)
  for (const good of ["", "é", "😀", "a b"]) assert.equal(plainText.parse(good), good)
})

test("an object of a user keeps each of its keys, also __proto__, wherever it is stored", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const value: unknown = JSON.parse('{"a": 1, "__proto__": {"b": 2}}')
  const text = /"__proto__":\{"b":2\}/

  const thread = await http.send("POST", "/threads", { metadata: value })
  const { thread_id } = thread.json as { thread_id: string }
  const assistant = await http.send("POST", "/assistants", { graph_id: "agent", context: value, metadata: value })
  await http.send("PUT", "/store/items", { namespace: ["a"], key: "k", value })
  const run = await http.send("POST", `/threads/${thread_id}/runs`, { assistant_id: "agent", metadata: value })

  for (const { text: answered } of [thread, assistant, run]) assert.match(answered, text)
  for (const path of [`/threads/${thread_id}`, "/store/items?namespace=a&key=k"])
    assert.match((await http.send("GET", path)).text, text)
  const found = await http.send("POST", "/threads/search", { metadata: JSON.parse('{"__proto__": {"b": 2}}') })
  assert.deepEqual([found.json].flat().length, 1)
})

test("what is not an object is refused as before, and the OpenAPI document describes an object", () => {
  for (const wrong of [[], "a", 1, null, new Date()]) {
    const { error } = jsonObject.safeParse(wrong)
    assert.match(error?.issues[0]?.message ?? "", /expected record/)
  }
  assert.deepEqual(z.toJSONSchema(z.object({ a: jsonObject, b: jsonObject.nullish() })).required, ["a"])
})
