import assert from "node:assert/strict"
import test from "node:test"
import { failsMoreOften, type RunCounts } from "./failure-rates.js"

const cases: readonly (readonly [string, RunCounts, RunCounts, boolean])[] = [
  ["nothing fails", { ended: 100, failed: 0 }, { ended: 900, failed: 0 }, false],
  ["every run of the canary fails", { ended: 20, failed: 20 }, { ended: 180, failed: 0 }, true],
  ["a few too many", { ended: 50, failed: 6 }, { ended: 450, failed: 2 }, true],
  ["a few, which may be chance", { ended: 50, failed: 3 }, { ended: 450, failed: 9 }, false],
  ["both fail alike", { ended: 100, failed: 50 }, { ended: 900, failed: 450 }, false],
  ["both always fail", { ended: 100, failed: 100 }, { ended: 900, failed: 900 }, false],
  ["the canary fails less often", { ended: 100, failed: 1 }, { ended: 900, failed: 450 }, false],
  ["too few runs to say", { ended: 19, failed: 19 }, { ended: 180, failed: 0 }, false],
  ["nothing to compare with", { ended: 100, failed: 100 }, { ended: 0, failed: 0 }, false],
  ["many runs, a small difference", { ended: 100_000, failed: 1200 }, { ended: 900_000, failed: 9000 }, true],
  ["more failures than runs, which a unit may claim", { ended: 30, failed: 1e9 }, { ended: 2e9, failed: 1e15 }, false],
  ["as many as a unit may claim", { ended: 2e9, failed: 1e9 + 1e5 }, { ended: 2e9, failed: 1e9 }, false],
  ["many runs, no difference", { ended: 100_000, failed: 1010 }, { ended: 900_000, failed: 9000 }, false],
]

test("a canary fails more often when chance alone would hardly ever give such counts", () => {
  for (const [name, canary, base, expected] of cases) assert.equal(failsMoreOften(canary, base, 20), expected, name)
})
