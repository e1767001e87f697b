import assert from "node:assert/strict"
import { test } from "node:test"
import { clockOf, durationText, exactly, relativeTime, sizeText } from "./time-text.js"

test("times are told by their largest unit, and far ones by their day", () => {
  const now = Date.parse("2026-03-31T12:00:00Z")
  const told = [-5000, -125_000, -3 * 3_600_000, -2.5 * 86_400_000, 3_700_000].map((ms) => relativeTime(now + ms, now))

  assert.deepEqual(told, ["just now", "2 min ago", "3 h ago", "2 d ago", "in 1 h"])
  assert.match(relativeTime(now - 88 * 86_400_000, now), /^2026-01-0\d$/)
})

test("whole times are told in the reader's zone, equally wide", () => {
  const at = new Date(2026, 0, 31, 8, 0, 5, 7)

  assert.equal(exactly(at.toISOString()), "2026-01-31 08:00:05")
  assert.equal(clockOf(at.getTime()), "08:00:05.007")
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
