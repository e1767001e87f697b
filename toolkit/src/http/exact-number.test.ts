import assert from "node:assert/strict"
import { test } from "node:test"
import { z } from "zod"
import { processorMsOf } from "../testing/processor-time.js"
import { checkExact, findExactNumbers, isExactNumber, restoreExact, withPlainNumbers } from "./exact-number.js"
import { parseJson, RawJson, toJsonText } from "./json.js"
import { randomJson } from "./testing/random-json.js"

test("every other number is a plain one", () => {
  const plain = "0 1 -1 0.5 1.10 1e-7 1e21 1.5E+300 9007199254740991 100000000000000000000"

  for (const number of plain.split(" ")) assert.equal(parseJson(number), Number(number))
})

test("documents with odd numbers, names and escapes come back as they are, whatever they contain", () => {
  for (let seed = 0; seed < 300; seed++) {
    const text = randomJson(seed)
    const printed = toJsonText(parseJson(text))

    // Only the spelling may differ: of a string's escapes, and of a float's digits.
    assert.deepEqual(tokensOf(printed), tokensOf(text), `seed ${seed}: ${text}`)
  }
})

/** The values of a text in order, integers by their digits. */
const tokensOf = (text: string) =>
  (text.match(/"(?:[^"\\]|\\.)*"|-?[\d.eE+-]+|true|false|null|[[\]{},:]/g) ?? []).map((token) => {
    if (token.startsWith('"')) return JSON.parse(token) as string
    return /^-?\d/.test(token) && /[.eE]/.test(token) ? { float: Number(token) } : token
  })

test("what keeps its text is printed by toJsonText only", () => {
  assert.throws(() => JSON.stringify({ a: parseJson("1.0") }), /toJsonText/)
  assert.throws(() => JSON.stringify({ a: new RawJson("1") }), /toJsonText/)
})

test("a number that a schema reads is a plain one; where it lets everything pass, it is exact", () => {
  const schema = z.object({
    ttl: z.union([z.number(), z.object({ minutes: z.number() })]).optional(),
    limit: z.int().optional(),
    input: z.unknown(),
    metadata: z.record(z.string(), z.unknown()).optional(),
  })
  const check = (text: string) => checkExact(schema, parseJson(text)).result

  const good = check('{"ttl":{"minutes":1.0},"limit":10.0,"input":[1.0],"metadata":{"id":12345678901234567890}}')
  assert.equal(
    toJsonText(good.data),
    '{"ttl":{"minutes":1},"limit":10,"input":[1.0],"metadata":{"id":12345678901234567890}}',
  )
  assert.equal(check('{"ttl":1.0,"input":-0.0}').data?.ttl, 1)
  for (const text of [
    '{"limit":12345678901234567890}',
    '{"metadata":1.0}',
    "1.0",
    '{"ttl":{"minutes":"1"},"input":1.0}',
  ]) {
    assert.equal(check(text).success, false, text)
  }
})

test("what lies beside a number that a branch of a union reads stays exact", () => {
  const put = z.object({ op: z.literal("put"), value: z.record(z.string(), z.unknown()), ttl: z.number() })
  const get = z.object({ op: z.literal("get"), key: z.string() })
  const schema = z.object({ operations: z.array(z.union([get, z.union([put, z.string()])])) })
  const text = '{"operations":[{"op":"put","value":{"id":12345678901234567890,"n":[1.0,-0.0]},"ttl":5.0}]}'

  const { result } = checkExact(schema, parseJson(text))

  assert.equal(toJsonText(result.data), text.replace("5.0", "5"))
})

const every = { isWanted: () => true, most: 10 }

test("only wanted numbers are found, and the first ones when there are many", () => {
  const value = parseJson(`[1.0,${"7.0,".repeat(100)}2.0]`)

  assert.deepEqual(findExactNumbers(value, [], { isWanted: (text) => text !== "7.0", most: 10 }), [
    { path: [0], text: "1.0" },
    { path: [101], text: "2.0" },
  ])
  assert.equal(findExactNumbers(value, [], every).length, 10)
})

test("a search for numbers takes linear time, however deep they are", async () => {
  const value = parseJson(`${"[".repeat(490)}${"1.0,".repeat(500_000)}1${"]".repeat(490)}`)

  const usedMs = await processorMsOf(() =>
    assert.deepEqual(findExactNumbers(value, [], { isWanted: () => false, most: 20 }), []),
  )

  // It takes a tenth of a second. With a path for each number it would take minutes.
  assert.ok(usedMs < 20_000)
})

test("a copy that was made with doubles gets its exact numbers back, unless it was changed", () => {
  const original = parseJson('{"id":12345678901234567890,"n":[1.0,-0.0,2.0],"limit":5}')
  const copy = parseJson('{"id":12345678901234567000,"n":[1,0,3],"limit":5.0,"new":1}')

  const restored = toJsonText(restoreExact(original, copy))
  assert.equal(restored, '{"id":12345678901234567890,"n":[1.0,-0.0,3],"limit":5,"new":1}')
})

test("programs that know only doubles get doubles", () => {
  assert.deepEqual(withPlainNumbers(parseJson('{"a":[1.0,"x"],"b":1e20}')), { a: [1, "x"], b: 1e20 })
  assert.equal(isExactNumber(parseJson("1.0")), true)
})

test("a user's keys that JavaScript gives a meaning have none", async () => {
  const text = '{"toJSON":1.0,"then":12345678901234567890,"constructor":-0.0,"__proto__":1e20}'
  const value = await Promise.resolve(parseJson(text))

  assert.equal(toJsonText(value), text)
})
