import assert from "node:assert/strict"
import { test } from "node:test"
import { addRoute, createApi } from "@superstep/toolkit/http/route"
import { z } from "zod"
import { plainText, queryList } from "./parameters.js"

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
