import assert from "node:assert/strict"
import { test } from "node:test"
import { firstTokenText, runsNow, tokensOf, tokensText } from "./metrics.js"

test("runs are those of the newest point that was measured", () => {
  const points = [
    { active_runs: 1, pending_runs: 7 },
    { active_runs: 2, pending_runs: 0 },
    { active_runs: null, pending_runs: null },
  ]

  assert.deepEqual(runsNow(points), { running: 2, waiting: 0 })
  assert.deepEqual(runsNow([]), { running: null, waiting: null })
})

test("tokens are told by direction, and where there are none, why", () => {
  assert.equal(tokensText({ tokens: { input: 12_345, output: 678 } }), "12,345 input, 678 output")
  assert.equal(tokensText({ tokens: { input: 0, output: 0 } }), "no model reported tokens in this time")
  assert.match(tokensText({ tokens: null }), /^not counted: traces are off/)
  const points = [
    { at: "a", tokens: { input: 3, output: 4 } },
    { at: "b", tokens: null },
  ]
  assert.deepEqual(tokensOf(points), [
    { at: "a", all: 7, bad: 0 },
    { at: "b", all: 0, bad: 0 },
  ])
})

test("the time to the first token is told in halves, and where there is none, why", () => {
  const none = { p50: null, p95: null }
  const tokens = { input: 1, output: 1 }

  assert.equal(
    firstTokenText({ tokens, first_token_ms: { p50: 700, p95: 3000 } }),
    "half within 700 ms, 95 % within 3.0 s",
  )
  assert.equal(firstTokenText({ tokens, first_token_ms: none }), "no model streamed in this time")
  assert.match(firstTokenText({ tokens: null, first_token_ms: none }), /^not counted: traces are off/)
})
