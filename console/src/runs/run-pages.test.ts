import assert from "node:assert/strict"
import { test } from "node:test"
import { type ListedRun, listedIn, type RunPage, withNewest } from "./run-pages.js"

/** Named by its second, which is also its time. */
const run = (second: number, status: ListedRun["status"] = "success"): ListedRun => ({
  run_id: `r${second}`,
  thread_id: "t",
  assistant_id: "a",
  graph_id: "agent",
  user_id: null,
  status,
  created_at: `2026-01-01T00:00:${second}.000Z`,
  due_at: `2026-01-01T00:00:${second}.000Z`,
  updated_at: `2026-01-01T00:00:${second}.000Z`,
})

/** @param end  the second at which the page ends; undefined: with the last run */
const page = (runs: readonly ListedRun[], end?: number, now = 59): RunPage => ({
  runs,
  next: end === undefined ? null : `2026-01-01T00:00:${end}.000000Z_r${end}`,
  now: `2026-01-01T00:00:${now}.000Z`,
})

const idsOf = (runs: readonly ListedRun[]) => runs.map(({ run_id }) => run_id)

const seen = (pages: readonly RunPage[], newest: RunPage) => listedIn(withNewest(pages, newest) ?? [])

test("the newest page brings new runs and new statuses, and what it should show and does not is gone", () => {
  const known = [page([run(40, "running"), run(39)], 39, 45), page([run(38), run(20)], 20), page([run(19)])]

  const now = seen(known, page([run(50), run(40, "error"), run(38)], 38))

  assert.deepEqual(idsOf(now), ["r50", "r40", "r38", "r20", "r19"])
  assert.equal(now[1]?.status, "error")
})

test("a newest page that is all there is leaves nothing else", () => {
  assert.deepEqual(idsOf(seen([page([run(40), run(39)])], page([run(39)]))), ["r39"])
  assert.deepEqual(idsOf(seen([page([])], page([]))), [])
})

test("pages grow by what comes as long as the newest one reaches them", () => {
  let pages: readonly RunPage[] = [page([run(20)], 12, 30)]
  for (const [from, now] of [
    [25, 35],
    [34, 44],
    [43, 55],
  ] as const)
    pages = withNewest(pages, page([run(now - 1), run(from)], from, now)) ?? []

  assert.deepEqual(idsOf(listedIn(pages)), ["r54", "r43", "r34", "r25", "r20"])
  assert.equal(withNewest(pages, page([run(59)], 58)), undefined)
})

test("the pages are read anew when more have come than a page shows, not when few match", () => {
  const first = [page([run(20)], 12, 30)]

  assert.equal(withNewest(first, page([run(50), run(40)], 40)), undefined)
  assert.notEqual(withNewest(first, page([run(50), run(20)], 20)), undefined)
  assert.notEqual(withNewest([page([], 25, 30)], page([], 28)), undefined)
  assert.notEqual(withNewest(first, page([run(50), run(20)])), undefined)
})
