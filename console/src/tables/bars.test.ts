import assert from "node:assert/strict"
import { test } from "node:test"
import { barsOf, sentenceOf } from "./bars.js"

const now = Date.parse("2026-01-01T12:00:00Z")
const point = (minutesAgo: number, all: number, bad: number) => ({
  at: new Date(now - minutesAgo * 60_000).toISOString(),
  all,
  bad,
})
const requests = ["request", "error"] as const

test("each part of the window has its own bar, and no point is lost", () => {
  const points = [point(61, 1, 0), point(50, 2, 1), point(20, 3, 3), point(10, 4, 0), point(-1, 5, 1)]

  const bars = barsOf(points, { count: 3, windowMs: 3_600_000, now })

  assert.deepEqual(bars, [
    { good: 2, bad: 1 },
    { good: 0, bad: 0 },
    { good: 8, bad: 4 },
  ])
  assert.equal(sentenceOf(bars, requests), "15 requests, 5 errors")
})

test("a sentence says how many, and how many failed", () => {
  assert.equal(sentenceOf([], requests), "no requests")
  assert.equal(sentenceOf([{ good: 0, bad: 1 }], requests), "1 request, 1 error")
  assert.equal(sentenceOf([{ good: 1998, bad: 2 }], ["run", "failed"]), "2,000 runs, 2 failed")
})
