import assert from "node:assert/strict"
import { test } from "node:test"
import { inZone, nextFirings } from "./firings.js"

const after = new Date("2026-03-28T12:00:00Z")
const times = (schedule: string, timezone: string | null, count = 3) =>
  nextFirings(schedule, timezone, { after, count }).map((time) => time.toISOString())

test("the next firings follow the schedule in its own zone, across a change of the clock", () => {
  assert.deepEqual(times("0 8 * * *", "Europe/Berlin"), [
    "2026-03-29T06:00:00.000Z",
    "2026-03-30T06:00:00.000Z",
    "2026-03-31T06:00:00.000Z",
  ])
  assert.deepEqual(times("0 8 * * *", null, 1), ["2026-03-29T08:00:00.000Z"])
  assert.deepEqual(times("@hourly", null, 2), ["2026-03-28T13:00:00.000Z", "2026-03-28T14:00:00.000Z"])
  assert.equal(inZone(new Date("2026-03-29T06:00:00Z"), "Europe/Berlin"), "Sun 2026-03-29 08:00")
})

test("what is no schedule, or is never due, has no firings", () => {
  for (const schedule of ["", "0 8", "0 8 * * * *", "* * 30 2 *", "hello"])
    assert.deepEqual(times(schedule, null), [], schedule)
})
