import assert from "node:assert/strict"
import { test } from "node:test"
import { jsonTokens } from "./json-tokens.js"

test("keys, texts, numbers and words are told apart, and nothing of the text is lost", () => {
  const value = { 'a "b": 1': ["x\n: 2", -1.5e10, true, null, {}], empty: "" }
  const json = JSON.stringify(value, null, 2)

  const tokens = jsonTokens(json)

  assert.equal(tokens.map(({ text }) => text).join(""), json)
  const ofKind = (kind: string) => tokens.filter((token) => token.kind === kind).map(({ text }) => text)
  assert.deepEqual(ofKind("key"), ['"a \\"b\\": 1"', '"empty"'])
  assert.deepEqual(ofKind("text"), ['"x\\n: 2"', '""'])
  assert.deepEqual(ofKind("number"), ["-15000000000"])
  assert.deepEqual(ofKind("word"), ["true", "null"])
})
