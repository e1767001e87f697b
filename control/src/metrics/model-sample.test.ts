import assert from "node:assert/strict"
import { test } from "node:test"
import { firstTokenBoundsMs, firstTokenClass } from "@superstep/protocol/unit/run-latency"
import { type ModelTally, modelsSince, modelsUsed, noModels } from "./model-sample.js"

/** These tokens, and runs whose first token came after these milliseconds each. */
function tally(input: number, output: number, times: readonly number[] = []): ModelTally {
  const counts = [0, ...firstTokenBoundsMs.map(() => 0)]
  for (const ms of times) counts[firstTokenClass(ms)] = (counts[firstTokenClass(ms)] ?? 0) + 1
  return {
    input_tokens: input,
    output_tokens: output,
    first_token_ms: times.reduce((sum, ms) => sum + ms, 0),
    first_token_counts: counts,
  }
}

test("a sample has what models used since the report before; after a restart of the unit, since the restart (S1)", () => {
  const before = tally(100, 20, [400])

  assert.deepEqual(modelsSince(before, tally(150, 25, [400, 900])), tally(50, 5, [900]))
  assert.deepEqual(modelsSince(before, before), tally(0, 0))
  assert.deepEqual(modelsSince(noModels, before), before)
  for (const restarted of [tally(99, 30, [400]), tally(200, 19, [400]), tally(200, 30), tally(200, 30, [600])])
    assert.deepEqual(modelsSince(before, restarted), restarted)
})

test("samples are added up, and those that counted nothing are not a zero", () => {
  const counted = [tally(10, 1, [90, 90]), null, tally(5, 2, [6500])]

  assert.deepEqual(modelsUsed(counted), {
    tokens: { input: 15, output: 3 },
    first_token_ms: { average: 6680 / 3, p50: 100, p95: 7000 },
  })
  const nothing = { average: null, p50: null, p95: null }
  assert.deepEqual(modelsUsed([null, null]), { tokens: null, first_token_ms: nothing })
  assert.deepEqual(modelsUsed([noModels]), { tokens: { input: 0, output: 0 }, first_token_ms: nothing })
})
