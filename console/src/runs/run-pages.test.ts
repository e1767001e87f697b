import assert from "node:assert/strict"
import { test } from "node:test"
import {
  type ListedRun,
  listedIn,
  type ReadRuns,
  type RunPage,
  readAgain,
  withNewest,
  withOlder,
  withOlderError,
} from "./run-pages.js"

const at = (second: number) => `2026-01-01T00:00:${second}.000Z`

/** Named by its second, which is also its time. */
const run = (second: number, status: ListedRun["status"] = "success"): ListedRun => ({
  run_id: `r${second}`,
  thread_id: "t",
  assistant_id: "a",
  graph_id: "agent",
  user_id: null,
  is_stateless: false,
  input_saved: true,
  status,
  created_at: at(second),
  due_at: at(second),
  updated_at: at(second),
})

/** @param end  the second at which the page ends; undefined: no run is left */
const page = (runs: readonly ListedRun[], end?: number, now = 59): RunPage => ({
  runs,
  next: end === undefined ? null : `after ${end}`,
  read_until: end === undefined ? null : at(end),
  now: at(now),
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

/** Reads again what is known, from an agent with these pages. */
async function again(pages: readonly RunPage[], known: ReadRuns | undefined, fields: object = {}) {
  const asked: (string | undefined)[] = []
  const read = async (cursor?: string) => {
    asked.push(cursor)
    return pages.find((_, n) => (n === 0 ? undefined : pages[n - 1]?.next) === cursor) as RunPage
  }
  const result = await readAgain({ read, known: () => known, isOutdated: false, now: 20_000, ...fields })
  return { asked, ids: idsOf(listedIn(result.pages)), readAt: result.readAt }
}

test("only the newest page is read again, unless an old run is in flight or something was done with the runs", async () => {
  const pages = [page([run(40)], 40), page([run(30)], 30), page([run(20)])]
  const known: ReadRuns = { pages: [page([run(40)], 40), page([run(30)], 30)], readAt: 0 }
  const inFlight: ReadRuns = { pages: [page([run(40)], 40), page([run(30, "running")], 30)], readAt: 0 }

  assert.deepEqual(await again(pages, undefined), { asked: [undefined], ids: ["r40"], readAt: 20_000 })
  assert.deepEqual(await again(pages, known), { asked: [undefined], ids: ["r40", "r30"], readAt: 0 })
  assert.deepEqual((await again(pages, known, { isOutdated: true })).asked, [undefined, "after 40"])
  assert.deepEqual((await again(pages, inFlight, { now: 5000 })).asked, [undefined])
  assert.deepEqual(await again(pages, inFlight), {
    asked: [undefined, "after 40"],
    ids: ["r40", "r30"],
    readAt: 20_000,
  })
})

test("an older page, or why there is none, goes where it was asked for, and nowhere else", () => {
  const known: ReadRuns = { pages: [page([run(40)], 40)], readAt: 0 }

  const failed = withOlderError(known, "after 40", "away")

  assert.equal(failed.olderError, "away")
  assert.deepEqual(withOlder(failed, "after 40", page([run(30)])), {
    pages: [page([run(40)], 40), page([run(30)])],
    readAt: 0,
  })
  assert.equal(withOlder(known, "after 50", page([run(30)])), known)
  assert.equal(withOlderError(known, "after 50", "away"), known)
})
