import assert from "node:assert/strict"
import { test } from "node:test"
import { jsonResponse, RawJson, rawJson, toJsonText } from "./json.js"

test("raw JSON keeps its bytes at any depth", async () => {
  const raw = new RawJson('{"b" : 1.0, "a":"\\u0000"}')

  const response = jsonResponse({ values: raw, list: [raw, 1] }, 201, { "x-a": "b" })

  assert.equal(response.status, 201)
  assert.equal(response.headers.get("content-type"), "application/json")
  assert.equal(response.headers.get("x-a"), "b")
  assert.equal(await response.text(), `{"values":${raw.text},"list":[${raw.text},1]}`)
})

test("everything else is written as JSON.stringify does", () => {
  const values = [null, 1, "é\n", true, [undefined, [null]], { a: undefined, "b\n": { c: [] } }, new Date(0), {}, []]

  for (const value of values) assert.equal(toJsonText(value), JSON.stringify(value))
})

test("a nullable column's null stays null", () => {
  assert.equal(toJsonText({ values: rawJson(null) }), '{"values":null}')
  assert.equal(toJsonText({ values: rawJson("[1 ]") }), '{"values":[1 ]}')
})
