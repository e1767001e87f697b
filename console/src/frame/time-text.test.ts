import assert from "node:assert/strict"
import { test } from "node:test"
import { durationText, relativeTime, sizeText } from "./time-text.js"

test("times are told by their largest unit", () => {
  const now = Date.parse("2026-01-02T00:00:00Z")

  assert.equal(relativeTime(now - 5000, now), "just now")
  assert.match(relativeTime(now - 125_000, now), /^2 min/)
  assert.match(relativeTime(now - 2 * 86_400_000, now), /^2 days ago$/)
  assert.match(relativeTime(now + 3_700_000, now), /^in 1 hr/)
})

test("a duration never rounds up to a unit that it has not reached", () => {
  assert.deepEqual([0, 999, 1000, 59_999, 60_000, 3_599_999, 7_800_000].map(durationText), [
    "0 ms",
    "999 ms",
    "1.0 s",
    "59.9 s",
    "1 min 0 s",
    "59 min 59 s",
    "2 h 10 min",
  ])
})

test("sizes have two digits at least", () => {
  assert.deepEqual([0, 999, 1400, 15_200, 1_400_000_000].map(sizeText), ["0 B", "999 B", "1.4 kB", "15 kB", "1.4 GB"])
})
