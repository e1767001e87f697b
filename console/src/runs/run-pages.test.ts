import assert from "node:assert/strict"
import { test } from "node:test"
import { areApart, type ListedRun, type RunPage, withNewest } from "./run-pages.js"

/** Named by its second, which is also its time. */
const run = (second: number, status: ListedRun["status"] = "success"): ListedRun => ({
  run_id: `r${second}`,
  thread_id: "t",
  assistant_id: "a",
  graph_id: "agent",
  user_id: null,
  status,
  created_at: `2026-01-01T00:00:${second}.000Z`,
  updated_at: `2026-01-01T00:00:${second}.000Z`,
})

/** @param end  the second at which the page ends; undefined: with the last run */
const page = (runs: readonly ListedRun[], end?: number, now = 59): RunPage => ({
  runs,
  next: end === undefined ? null : `2026-01-01T00:00:${end}.000000Z_r${end}`,
  now: `2026-01-01T00:00:${now}.000Z`,
})

const idsOf = (runs: readonly ListedRun[]) => runs.map(({ run_id }) => run_id)

test("the newest page brings new runs and new statuses, and what it should show and does not is gone", () => {
  const known = [run(40, "running"), run(39), run(38), run(20), run(19)]

  const now = withNewest(known, page([run(50), run(40, "error"), run(38)], 38))

  assert.deepEqual(idsOf(now), ["r50", "r40", "r38", "r20", "r19"])
  assert.equal(now[1]?.status, "error")
})

test("a newest page that is all there is leaves nothing else", () => {
  assert.deepEqual(idsOf(withNewest([run(40), run(39)], page([run(39)]))), ["r39"])
  assert.deepEqual(idsOf(withNewest([], page([]))), [])
})

test("the pages are read anew when more have come than a page shows, not when few match", () => {
  const first = page([run(20)], 12, 30)

  assert.equal(areApart(first, page([run(50), run(40)], 40)), true)
  assert.equal(areApart(first, page([run(50), run(20)], 20)), false)
  assert.equal(areApart(page([], 25, 30), page([], 28)), false)
  assert.equal(areApart(first, page([run(50), run(20)])), false)
  assert.equal(areApart(undefined, page([run(50)], 40)), false)
})
