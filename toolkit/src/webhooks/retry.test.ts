import assert from "node:assert/strict"
import { test } from "node:test"
import { delaysOfHalfADayMs as delaysMs, resultOfTry, retryDelayMs } from "./retry.js"
import { askedWaitMs } from "./send.js"

test("a delivery is retried for half a day with growing delays, and then fails", () => {
  const delays = Array.from({ length: 10 }, (_, index) => retryDelayMs(delaysMs, index + 1, 0.5))
  const hours = delays.reduce<number>((sum, delay) => sum + (delay ?? 0), 0) / 3_600_000

  assert.deepEqual(delays.slice(0, 3), [5_000, 30_000, 120_000])
  assert.equal(delays[9], undefined)
  assert.ok(hours > 12 && hours < 16, `${hours} hours`)
  assert.deepEqual([retryDelayMs(delaysMs, 1, 0), retryDelayMs(delaysMs, 1, 1)], [4_000, 6_000])
})

test("a receiver's Retry-After delays the next try, by an hour at most", () => {
  const now = Date.UTC(2030, 0, 1)
  const waits = ["90", "Tue, 01 Jan 2030 00:02:00 GMT", "Mon, 31 Dec 2029 00:00:00 GMT", "86400", "soon", undefined]
  const ofTry = (askedMs: number) => {
    const { state, againMs = 0 } = resultOfTry({ status: 429, askedMs }, { delaysMs, tries: 1, isStopping: false })
    return [state, againMs >= 90_000]
  }

  const askedMs = waits.map((header) => askedWaitMs(header, now))
  assert.deepEqual(askedMs, [90_000, 120_000, 0, 3_600_000, 0, 0])
  assert.deepEqual(
    [ofTry(90_000), ofTry(0)],
    [
      ["pending", true],
      ["pending", false],
    ],
  )
})
