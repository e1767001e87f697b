import assert from "node:assert/strict"
import { test } from "node:test"
import { firstTokenBoundsMs, firstTokenClass } from "@superstep/protocol/unit/run-latency"
import type { Span } from "@superstep/protocol/worker/frames"
import { Registry } from "prom-client"
import type { Claim } from "../runs/run.js"
import { countModelUse } from "./model-use.js"

const claim = (attempt: number, waitedMs?: number) => ({ attempt, waitedMs }) as Claim

const span = (number: number, change: Partial<Span> = {}): Span => ({
  span_id: String(number),
  number,
  kind: "model",
  name: "model",
  namespace: "",
  started_us: 1,
  status: "success",
  ...change,
})
const used = (input_tokens: number, output_tokens: number) => ({ input_tokens, output_tokens })

/** A run whose worker sends these parts of its trace. */
function count(parts: readonly (readonly Span[])[], run = claim(1)) {
  const registry = new Registry()
  const models = countModelUse(registry)
  const observed = models.observer.started(run)
  for (const spans of parts) observed.spans?.({ spans, contents: [] })
  observed.ended("success")
  const { input_tokens, output_tokens, first_token } = models.report()
  return { tokens: [input_tokens, output_tokens], firstToken: first_token, registry }
}

test("tokens of each call of a model are counted when it ends, once, also when its span is sent again", async () => {
  const first = span(2, { parent: 1, ...used(3, 4) })

  const { tokens, registry } = count([
    [span(1, { kind: "graph", ...used(100, 100) }), { ...first, status: "running" }],
    [first, span(3, { parent: 1, status: "error", ...used(5, 0) })],
    [first],
  ])

  assert.deepEqual(tokens, [8, 4])
  const text = await registry.metrics()
  assert.match(text, /^superstep_model_tokens_total\{direction="input"\} 8$/m)
  assert.match(text, /^superstep_model_tokens_total\{direction="output"\} 4$/m)
})

test("a model that calls others does not count what they have counted, in whichever order their spans come", () => {
  const outer = span(1, used(30, 3))
  const chain = span(2, { kind: "chain", parent: 1 })
  const inner = [span(3, { parent: 2, ...used(10, 1) }), span(4, { parent: 2, ...used(20, 2) })]

  assert.deepEqual(count([[outer, chain, ...inner]]).tokens, [30, 3])
  assert.deepEqual(count([[{ ...outer, status: "running" }, chain], inner, [outer]]).tokens, [30, 3])
  assert.deepEqual(count([[span(1), chain, ...inner]]).tokens, [30, 3], "the outer one may have none")
})

test("what no model can have used does not count", () => {
  assert.deepEqual(count([[span(1, used(-5, 7)), span(2, used(2 ** 53 - 1, 1))]]).tokens, [0, 8])
})

test("the first token of a run is the earliest one of its models, from when the run could start", async () => {
  const token = (afterMs: number) => ({ first_token_us: (Date.now() + afterMs) * 1000 })
  const parts = [[span(1, token(-60_000)), span(2, token(60_000))], [span(3)]]

  const { firstToken, registry } = count(parts, claim(1, 3_000_000))

  // The worker's clock is no reason for a negative time.
  assert.ok(firstToken.sum_ms >= 3_000_000 && firstToken.sum_ms < 3_060_000)
  assert.equal(firstToken.counts.length, firstTokenBoundsMs.length + 1)
  assert.equal(firstToken.counts[firstTokenClass(3_000_000)], 1)
  assert.match(await registry.metrics(), /^superstep_time_to_first_token_seconds_count 1$/m)
})

test("a worker whose clock is fast gives no first token after the run's end", () => {
  const beforeMs = Date.now()

  const { firstToken } = count([[span(1, { first_token_us: (Date.now() + 60_000) * 1000 })]])

  assert.ok(firstToken.sum_ms <= Date.now() - beforeMs)
  const seen = firstToken.counts.reduce((sum, of) => sum + of, 0)
  assert.equal(seen, 1)
})

test("sums start again from zero before one leaves the bounds of the report", () => {
  const models = countModelUse(new Registry())
  const first_token_us = Date.now() * 1000

  for (const output_tokens of [5, 7]) {
    const observed = models.observer.started(claim(1, 9e11))
    observed.spans?.({ spans: [span(1, { first_token_us })], contents: [] })
    observed.ended("success")
    observed.spans?.({ spans: [span(2, { output_tokens })], contents: [] })
  }

  const { output_tokens, first_token } = models.report()
  assert.equal(output_tokens, 7)
  assert.ok(first_token.sum_ms >= 9e11 && first_token.sum_ms < 1e12)
  assert.equal(first_token.counts.at(-1), 1)
})

test("a run without a model that streams, and a later attempt, have no first token", () => {
  for (const { firstToken } of [count([[span(1)]]), count([[span(1, { first_token_us: 1 })]], claim(2))])
    assert.deepEqual([firstToken.sum_ms, firstToken.counts.some((of) => of > 0)], [0, false])
})
