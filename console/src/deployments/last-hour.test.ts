import assert from "node:assert/strict"
import { test } from "node:test"
import { barsOf, runsNow, sentenceOf } from "./last-hour.js"

const point = (requests: number, errors: number) => ({ at: `at ${requests}`, requests, errors })

test("the points of an hour are added up in bars, without losing one", () => {
  const bars = barsOf([point(1, 0), point(2, 1), point(3, 3), point(4, 0), point(5, 1)], 2)

  assert.deepEqual(bars, [
    { at: "at 1", good: 2, errors: 4 },
    { at: "at 4", good: 8, errors: 1 },
  ])
  assert.equal(sentenceOf(bars), "15 requests, 5 errors")
  assert.equal(sentenceOf(barsOf([], 20)), "no requests")
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
