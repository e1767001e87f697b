import assert from "node:assert/strict"
import { test } from "node:test"
import { isTimezone, nextRun, nextRunDate, scheduleProblem } from "./schedule.js"

const next = (schedule: string, timezone: string | null, after: string) =>
  nextRun(schedule, timezone, new Date(after))?.toISOString()

const nexts = (schedule: string, timezone: string, after: string, count: number) => {
  const found: string[] = []
  while (found.length < count) found.push(next(schedule, timezone, found.at(-1) ?? after) ?? "never")
  return found
}

test("a schedule is due at its minutes, in UTC unless it names a zone", () => {
  assert.equal(next("*/15 * * * *", null, "2026-01-01T00:07:30Z"), "2026-01-01T00:15:00.000Z")
  assert.equal(next("0 9 * * MON-FRI", null, "2026-01-02T09:00:00Z"), "2026-01-05T09:00:00.000Z")
  assert.equal(next("0 9 * * *", "Asia/Kolkata", "2026-01-01T00:00:00Z"), "2026-01-01T03:30:00.000Z")
  assert.equal(next("@daily", "America/New_York", "2026-01-01T00:00:00Z"), "2026-01-01T05:00:00.000Z")
  assert.equal(next("0 0 29 2 *", null, "2026-03-01T00:00:00Z"), "2028-02-29T00:00:00.000Z")
})

test("the next due time is after the given moment, never equal to it", () => {
  assert.equal(next("0 * * * *", null, "2026-01-01T10:00:00Z"), "2026-01-01T11:00:00.000Z")
  assert.equal(next("0 * * * *", null, "2026-01-01T09:59:59.999Z"), "2026-01-01T10:00:00.000Z")
})

/** The next due times in 2026, as `MM-DDTHH:MM`. */
const duesOf = (schedule: string, timezone: string, after: string, count: number) =>
  nexts(schedule, timezone, `2026-${after}:00Z`, count).map((time) => time.slice(5, 16))

test("with both a day of the month and a day of the week either is due", () => {
  const found = duesOf("0 0 13 * FRI", "UTC", "01-01T00:00", 4)
  assert.deepEqual(found, ["01-02T00:00", "01-09T00:00", "01-13T00:00", "01-16T00:00"])
})

test("a time that the clock skips in spring is due at the moment of the change, and one that is repeated in autumn once (CR6)", () => {
  // There is no 02:30 on 29 March: it is 03:00 in summer time.
  const inSpring = duesOf("30 2 * * *", "Europe/Berlin", "03-27T12:00", 3)
  assert.deepEqual(inSpring, ["03-28T01:30", "03-29T01:00", "03-30T00:30"])
  const inAutumn = duesOf("30 2 * * *", "Europe/Berlin", "10-24T12:00", 2)
  assert.deepEqual(inAutumn, ["10-25T00:30", "10-26T01:30"])
})

test("a schedule by intervals stays regular at both changes of the clock (CR6)", () => {
  const hours = duesOf("0 * * * *", "Europe/Berlin", "10-24T23:30", 4)
  assert.deepEqual(hours, ["10-25T00:00", "10-25T01:00", "10-25T02:00", "10-25T03:00"])
  const halfHours = duesOf("*/30 * * * *", "Europe/Berlin", "03-29T00:30", 2)
  assert.deepEqual(halfHours, ["03-29T01:00", "03-29T01:30"])
})

test("an invalid schedule is rejected with a message", () => {
  const invalid = ["", "often", "* * * *", "* * * * * *", "0 0 1 1 * 2030", "2030-01-01T00:00:00", "60 * * * *"]
  for (const schedule of invalid) assert.ok(scheduleProblem(schedule), schedule)
  assert.match(scheduleProblem("* * * * * *") ?? "", /five fields/)
  assert.match(scheduleProblem("60 * * * *") ?? "", /minute/)
  assert.match(scheduleProblem("0 0 30 2 *") ?? "", /never/)
  assert.match(scheduleProblem("@reboot") ?? "", /reboot/)
  assert.equal(scheduleProblem(" 5/15  0 * * 7 "), undefined)
})

test("time zones are validated by name", () => {
  for (const name of ["UTC", "Europe/Berlin", "america/new_york"]) assert.equal(isTimezone(name), true, name)
  for (const name of ["", "Mars/Base", "+02:00", "Europe/Berlin\u0000"]) assert.equal(isTimezone(name), false, name)
})

test("a disabled or ended cron has no next due time", () => {
  const plan = { schedule: "0 0 * * *", timezone: null, enabled: true, end_time: new Date("2026-01-02T00:00:00Z") }
  const after = (text: string, changed: object = {}) =>
    nextRunDate({ ...plan, ...changed }, new Date(text))?.toISOString()

  assert.equal(after("2026-01-01T12:00:00Z"), "2026-01-02T00:00:00.000Z")
  assert.equal(after("2026-01-02T12:00:00Z"), undefined)
  assert.equal(after("2026-01-01T12:00:00Z", { enabled: false }), undefined)
  assert.equal(after("2026-01-02T12:00:00Z", { end_time: null }), "2026-01-03T00:00:00.000Z")
})
