import assert from "node:assert/strict"
import { test } from "node:test"
import { delaysOfHalfADayMs as delaysMs, retryDelayMs } from "./retry.js"

test("a delivery is retried for half a day with growing delays, and then fails", () => {
  const delays = Array.from({ length: 10 }, (_, index) => retryDelayMs(delaysMs, index + 1, 0.5))
  const hours = delays.reduce<number>((sum, delay) => sum + (delay ?? 0), 0) / 3_600_000

  assert.deepEqual(delays.slice(0, 3), [5_000, 30_000, 120_000])
  assert.equal(delays[9], undefined)
  assert.ok(hours > 12 && hours < 16, `${hours} hours`)
  assert.deepEqual([retryDelayMs(delaysMs, 1, 0), retryDelayMs(delaysMs, 1, 1)], [4_000, 6_000])
})
