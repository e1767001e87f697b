import assert from "node:assert/strict"
import { test } from "node:test"
import { runLatencyBoundsMs, runLatencyClass } from "@superstep/protocol/unit/run-latency"
import { byRevision, describeRuns, type RunTally, runsSince } from "./run-sample.js"

/** Runs that took these milliseconds each; the first ones failed. */
function tally(times: readonly number[], failed = 0): RunTally {
  const counts = [0, ...runLatencyBoundsMs.map(() => 0)]
  for (const ms of times) counts[runLatencyClass(ms)] = (counts[runLatencyClass(ms)] ?? 0) + 1
  return { ended: times.length, failed, latency_ms: times.reduce((sum, ms) => sum + ms, 0), latency_counts: counts }
}

const sample = (revision_id: string, runs: RunTally) => ({ deployment_id: "d", revision_id, ...runs })

test("a sample has the runs since the report before; after a restart of the unit, since the restart (S1)", () => {
  const before = tally([10, 20], 1)

  assert.deepEqual(runsSince(before, tally([10, 20, 700], 1)), tally([700]))
  assert.deepEqual(runsSince(before, before), tally([]))
  for (const restarted of [tally([30]), tally([10, 20, 30]), tally([10, 15], 1)])
    assert.deepEqual(runsSince(before, restarted), restarted)
})

test("runs are added up by revision: error rate, average and percentiles", () => {
  const runs = byRevision([
    sample("new", tally([40, 40, 4000], 1)),
    sample("old", tally([20_000])),
    sample("new", tally([200])),
    sample("idle", tally([])),
  ])

  assert.deepEqual(runs.map(describeRuns), [
    {
      revision_id: "new",
      ended: 4,
      failed: 1,
      error_rate: 0.25,
      latency_ms: { average: 1070, p50: 50, p95: 5000 },
    },
    {
      revision_id: "old",
      ended: 1,
      failed: 0,
      error_rate: 0,
      latency_ms: { average: 20_000, p50: 30_000, p95: 30_000 },
    },
  ])
})

test("runs of units that measure no latency count, without a latency", () => {
  const [runs] = byRevision([sample("former", { ended: 2, failed: 1, latency_ms: 0, latency_counts: [] })])

  assert.ok(runs)
  assert.deepEqual(describeRuns(runs), {
    revision_id: "former",
    ended: 2,
    failed: 1,
    error_rate: 0.5,
    latency_ms: { average: null, p50: null, p95: null },
  })
})
