import assert from "node:assert/strict"
import { test } from "node:test"
import { runLatencyBoundsMs, runLatencyClass } from "@superstep/protocol/unit/run-latency"
import type { Claim } from "../runs/run.js"
import { countOutcomes } from "./run-outcomes.js"

const claim = (attempt: number, waitedMs?: number) => ({ attempt, waitedMs }) as Claim

test("ended runs are counted with their wait, and those that continue elsewhere are not", () => {
  const { observer, report, latency } = countOutcomes()

  observer.started(claim(1, 3_000_000)).ended("success")
  observer.started(claim(2, 3_000_000)).ended("error")
  observer.started(claim(1)).ended("released")

  assert.deepEqual(report(), { ended: 2, failed: 1 })
  const { sum_ms, counts } = latency()
  assert.equal(counts.length, runLatencyBoundsMs.length + 1)
  // The wait of a first attempt counts, that of another one does not.
  assert.equal(counts[runLatencyClass(3_000_000)], 1)
  const all = counts.reduce((sum, count) => sum + count, 0)
  assert.equal(all, 2)
  assert.ok(sum_ms >= 3_000_000 && sum_ms < 6_000_000)
})

test("counts start again from zero before a sum leaves the bounds of the report", () => {
  const { observer, report, latency } = countOutcomes()

  for (const status of ["error", "success"] as const) observer.started(claim(1, 9e11)).ended(status)

  assert.deepEqual(report(), { ended: 1, failed: 0 })
  const { sum_ms, counts } = latency()
  assert.ok(sum_ms >= 9e11 && sum_ms < 1e12)
  assert.equal(counts[runLatencyClass(9e11)], 1)
})

test("classes of latency have inclusive upper bounds, and one is above all", () => {
  assert.deepEqual([0, 50, 51, 3_600_000, 3_600_001].map(runLatencyClass), [0, 0, 1, 12, 13])
})
