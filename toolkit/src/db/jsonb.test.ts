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

test("a float stays a float in jsonb, which writes its exponent out", () => {
  assert.equal(
    toJsonbText('{"a":1e+20,"b":[-1.5E3],"c":"1e20"}'),
    '{"a":100000000000000000000.0,"b":[-1500.0],"c":"1e20"}',
  )
  for (const text of ["1.55e1", "1e-7", "1.0", "12345678901234567890", '"2e3"']) assert.equal(toJsonbText(text), text)
})
