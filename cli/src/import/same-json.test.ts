import assert from "node:assert/strict"
import { test } from "node:test"
import { parseJson } from "@superstep/toolkit/http/json"
import { sameJson } from "./same-json.js"

const same = (one: string, other: string) => [
  sameJson(parseJson(one), parseJson(other)),
  sameJson(parseJson(other), parseJson(one)),
]

test("the order of keys does not matter, everything else does", () => {
  assert.deepEqual(same('{"a":1,"b":[{"c":null}]}', '{"b":[{"c":null}],"a":1}'), [true, true])
  for (const [one, other] of [
    ['{"a":1}', '{"a":1,"b":2}'],
    ['{"a":null}', "{}"],
    ['{"a":1}', '{"b":1}'],
    ["[1,2]", "[2,1]"],
    ["[]", "{}"],
    ["null", "{}"],
    ['"1"', "1"],
    ['{"__proto__":1}', '{"__proto__":2}'],
  ] as const)
    assert.deepEqual(same(one, other), [false, false], `${one} ${other}`)
})

test("numbers are compared by their text where a double would change them", () => {
  assert.deepEqual(same("12345678901234567890", "12345678901234567891"), [false, false])
  assert.deepEqual(same("12345678901234567890", "12345678901234567890"), [true, true])
  assert.deepEqual(same("1.0", "1"), [false, false])
})

test("a message may lack fields that say nothing", () => {
  const short = '{"type":"ai","content":"hi","id":"1"}'
  assert.deepEqual(same(short, '{"type":"ai","content":"hi","id":"1","name":null,"tool_calls":[],"example":false}'), [
    true,
    true,
  ])
  assert.deepEqual(same(short, '{"type":"ai","content":"hi","id":"1","tool_calls":[{"name":"a"}]}'), [false, false])
  assert.deepEqual(same(short, '{"type":"ai","content":"hi","id":null}'), [false, false])
})
