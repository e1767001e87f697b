import assert from "node:assert/strict"
import { test } from "node:test"
import { linesOf } from "./lines.js"

const now = Date.parse("2026-01-01T12:00:00Z")
const place = { windowMs: 600_000, now, width: 100, height: 50, most: 10 }
const at = (minutesAgo: number, value: number | null) => ({
  at: new Date(now - minutesAgo * 60_000).toISOString(),
  value,
})

test("a line goes from the oldest to the newest value, and zero is at the bottom", () => {
  assert.deepEqual(linesOf([at(10, 0), at(5, 10), at(0, 5)], place), ["0.0,51.0 50.0,1.0 100.0,26.0"])
})

test("what was not measured interrupts the line, and a value by itself is seen", () => {
  assert.deepEqual(linesOf([at(9, 5), at(8, null), at(5, 5), at(4, 5)], place), [
    "10.0,26.0 11.0,26.0",
    "50.0,26.0 60.0,26.0",
  ])
  assert.deepEqual(linesOf([], place), [])
})

test("a point before the window is at its edge", () => {
  assert.deepEqual(linesOf([at(11, 10), at(0, 10)], place), ["0.0,1.0 100.0,1.0"])
})
