import assert from "node:assert/strict"
import { test } from "node:test"
import { toJsonbText } from "./jsonb.js"

test("only what jsonb refuses is replaced", () => {
  const zero = JSON.stringify({ text: "a\u0000b" })
  const unpaired = JSON.stringify(["\ud800", "\udc00 x"])
  const harmless = ['"\\ud83d\\ude00"', '"\\\\u0000"', '"\\u00e9"', '{"a":"\\n"}', '"\\\\\\\\ud800"']

  assert.equal(toJsonbText(zero), '{"text":"a\\ufffdb"}')
  assert.equal(toJsonbText(unpaired), '["\\ufffd","\\ufffd x"]')
  for (const text of harmless) assert.equal(toJsonbText(text), text)
})
