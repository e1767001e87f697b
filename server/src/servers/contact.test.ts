import assert from "node:assert/strict"
import { test } from "node:test"
import { Contact } from "./contact.js"

const start = 1_700_000_000_000
const after = (seconds: readonly number[]) => {
  const contact = new Contact({ maxGapMs: 12_000, lastingMs: 30_000 })
  for (const second of seconds) contact.reached(start + second * 1000)
  return contact.judgeUntilMs === undefined ? undefined : (contact.judgeUntilMs - start) / 1000
}

test("expired leases are acted on after contact for the length of a lease, until the longest allowed gap has passed", () => {
  assert.equal(after([]), undefined)
  assert.equal(after([0, 5, 10, 15, 20, 25]), undefined)
  assert.equal(after([0, 5, 10, 15, 20, 25, 30]), 42)
  assert.equal(after([0, 12, 24, 36]), 48)
})

test("an outage, or a clock that goes backwards, restarts the waiting time", () => {
  assert.equal(after([0, 10, 20, 30, 43]), undefined)
  assert.equal(after([0, 10, 20, 30, 43, 55, 67, 73]), 85)
  assert.equal(after([0, 10, 20, 30, 29]), undefined)
})
