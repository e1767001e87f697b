import assert from "node:assert/strict"
import { test } from "node:test"
import { barsOf, runsNow, sentenceOf } from "./last-hour.js"

const now = Date.parse("2026-01-01T12:00:00Z")
const point = (minutesAgo: number, requests: number, errors: number) => ({
  at: new Date(now - minutesAgo * 60_000).toISOString(),
  requests,
  errors,
})

test("each part of the last hour has its own bar, and no point is lost", () => {
  const points = [point(61, 1, 0), point(50, 2, 1), point(20, 3, 3), point(10, 4, 0), point(-1, 5, 1)]

  const bars = barsOf(points, 3, now)

  assert.deepEqual(bars, [
    { good: 2, errors: 1 },
    { good: 0, errors: 0 },
    { good: 8, errors: 4 },
  ])
  assert.equal(sentenceOf(bars), "15 requests, 5 errors")
  assert.equal(sentenceOf(barsOf([], 20, now)), "no requests")
})

test("runs are those of the newest point that was measured", () => {
  const points = [
    { active_runs: 1, pending_runs: 7 },
    { active_runs: 2, pending_runs: 0 },
    { active_runs: null, pending_runs: null },
  ]

  assert.deepEqual(runsNow(points), { running: 2, waiting: 0 })
  assert.deepEqual(runsNow([]), { running: null, waiting: null })
})
