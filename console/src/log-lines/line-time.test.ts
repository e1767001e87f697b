import assert from "node:assert/strict"
import { test } from "node:test"
import { dayAbove } from "./line-time.js"

test("a day is shown above its first line", () => {
  // Local times, so that the test holds in every zone.
  const at = (day: number, ms: number) => new Date(2026, 0, day, 8, 0, 5, ms).toISOString()

  assert.equal(dayAbove(at(30, 0), undefined), "2026-01-30")
  assert.equal(dayAbove(at(30, 900), at(30, 0)), undefined)
  assert.equal(dayAbove(at(31, 0), at(30, 900)), "2026-01-31")
})
