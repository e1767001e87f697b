import assert from "node:assert/strict"
import { test } from "node:test"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import type { Call } from "./call.js"
import { judgeHistory } from "./judge.js"
import { carriedIn, changedNumbers, randomNumbers, withMarkedNumbers, withPlainNumbers } from "./numbers.js"

test("numbers keep their texts on their way through values of this program", () => {
  for (let seed = 0; seed < 500; seed++) {
    const carried = randomNumbers("x", seededRandom(seed), "all")
    const sent = withPlainNumbers(JSON.stringify({ metadata: carried, text: "a" }))

    const read = JSON.parse(withMarkedNumbers(sent))

    assert.match(sent, /"numbers":\[-?\d[^"]*\]/)
    assert.deepEqual(carriedIn(read), [carried])
  }
  assert.deepEqual(carriedIn(JSON.parse(withMarkedNumbers('[{"of":"x","numbers": [1.0, -0.0 ]},{"a":"numbers"}]'))), [
    { of: "x", numbers: ["exact:1.0", "exact:-0.0"] },
  ])
})

test("an integer keeps its digits, a float its double and that it is one", () => {
  const isKept = (sent: string, read: string, areDoubles = false) =>
    changedNumbers({ of: "x", sent: [`exact:${sent}`], numbers: [`exact:${read}`], areDoubles }) === undefined

  const [big, near] = ["12345678901234567890", "12345678901234567000"]
  assert.ok(isKept(big, big))
  assert.ok(!isKept(big, near))
  assert.ok(!isKept("1.0", "1") && !isKept("1", "1.0") && !isKept("-0.0", "0.0"))
  assert.ok(isKept("2.50", "2.5") && isKept("1e20", "100000000000000000000.0") && isKept("-0", "0"))
  assert.ok(!isKept("1.5", "1.6") && !isKept("1e20", "null") && !isKept("1", "x"))
  // A graph that has only doubles keeps those.
  assert.ok(isKept("1.0", "1", true) && isKept("-0.0", "0", true) && !isKept("1.5", "1.6", true))
  assert.ok(changedNumbers({ of: "x", sent: ["exact:1", "exact:2"], numbers: ["exact:1"], areDoubles: false }))
})

test("what a client reads with other numbers is a fault of the history, and so is what is gone", () => {
  const call = (what: Call["what"], outcome: Call["outcome"]): Call => {
    return { thread: "t", client: "a", what, calledAt: 0, returnedAt: 1, outcome }
  }
  const numbers = (text: string) => [{ of: "u", sent: ["exact:1.0"], numbers: [`exact:${text}`], areDoubles: false }]
  const kept = { op: "kept", name: "u" } as const

  const { faults } = judgeHistory([
    call({ op: "status" }, { is: "ok", value: { status: "idle", numbers: numbers("1") } }),
    call(kept, { is: "ok", value: { numbers: numbers("1.0") } }),
    call(kept, { is: "refused", status: 404 }),
  ])

  assert.deepEqual(faults, [
    "t: u was acknowledged, and a read of it is answered with 404",
    "t: status: the numbers of u came back as others: [1.0], then [1]",
  ])
})
