import assert from "node:assert/strict"
import { test } from "node:test"
import { InvalidInput } from "../errors/errors.js"
import { processorMsOf } from "../testing/processor-time.js"
import { parseJsonBody } from "./body.js"
import { toJsonText } from "./json.js"

const problemsOf = (text: string) => {
  try {
    parseJsonBody(text)
    return []
  } catch (error) {
    assert.ok(error instanceof InvalidInput)
    return error.problems.map(({ path, message }) => `${path.join(".")}: ${message}`)
  }
}

test("a number that no graph can hold is refused with its path, and one that is no JSON", () => {
  assert.deepEqual(problemsOf('{"input":{"list":[1,1e400]},"text":"1e400","b":-1e999}'), [
    "body.input.list.1: 1e400 is too large for a floating-point number: send it as text",
    "body.b: -1e999 is too large for a floating-point number: send it as text",
  ])
  assert.deepEqual(problemsOf(`{"id":${"9".repeat(4301)}}`), [
    "body.id: an integer of 4301 digits cannot be read: the limit is 4300: send it as text",
  ])
  assert.deepEqual(
    problemsOf(`{"a":1e-20000,"b":1.${"0".repeat(16_384)},"c":0e99999,"d":1e-16383,"e":1.${"0".repeat(16_383)}}`),
    [
      "body.a: 1e-20000 cannot be stored: the limit is 16383 decimal places: send it as text",
      `body.b: 1.${"0".repeat(38)}… cannot be stored: the limit is 16383 decimal places: send it as text`,
      "body.c: 0e99999 cannot be stored: the limit is 16383 decimal places: send it as text",
    ],
  )
  for (const text of ['{"a":1.0,}', '{"a":01.0}']) assert.match(problemsOf(text).join(), /not valid JSON/)
})

test("the largest numbers that can be held stay as they are", () => {
  const text = `{"id":-${"9".repeat(4300)},"f":1.7976931348623157e308,"g":1e308}`

  assert.equal(
    toJsonText(parseJsonBody(text)),
    text.replace("1.7976931348623157e308", "1.7976931348623157e+308").replace("1e308", "1e+308"),
  )
})

test("reading a body takes linear time, whatever it contains", async () => {
  const hostile = [
    `["${"\\".repeat(1_000_000)}"]`,
    `[${'"\\"",'.repeat(200_000)}1.0]`,
    `[${"1.0,".repeat(200_000)}1]`,
    `["${"a".repeat(1_000_000)}`,
    `[${"9".repeat(1_000_000)}]`,
    `[${"-".repeat(1_000_000)}]`,
  ]
  const usedMs = await processorMsOf(() => hostile.forEach(problemsOf))

  // Less than a second in all; squared it would be minutes.
  assert.ok(usedMs < 30_000)
})
