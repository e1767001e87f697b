/** The rules of crons on histories in simulated time. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { ownTheTime } from "@superstep/toolkit/testing/simulation/simulated-database"
import { openSession } from "@superstep/toolkit/testing/simulation/simulated-session"
import { runsLongTests } from "@superstep/toolkit/testing/wide-tests"
import { insertSystemAssistants } from "../assistants/queries.js"
import { migrations, startTestServer } from "../testing/test-server.js"
import { nextRun, nextRunDate } from "./schedule.js"
import { type Change, type History, recordChanges, simulateCrons } from "./testing/simulated-crons.js"

test("each due time is taken once, with one run, in time and in order, whatever fails meanwhile (CR1, CR2, CR6)", async (t) => {
  await using db = await freshDatabase({ migrations })
  await insertSystemAssistants(db, ["agent"], {})
  await ownTheTime(db)
  await recordChanges(db)
  // It claims nothing: runs wait, as they do while all slots are taken.
  await using server = await startTestServer(db, { slots: 0, sweepMs: 3_600_000 })
  await server.crons.stop()
  await using session = await openSession(db.uri)

  for (const seed of Array.from({ length: runsLongTests ? 100 : 2 }, (_, n) => n + 1)) {
    const history = await simulateCrons(server, session, seed)
    const fired = history.changes.filter(({ is_fired }) => is_fired)
    t.diagnostic(`seed ${seed}: ${fired.length} due times taken`)

    assert.deepEqual(problemsOf(history), [], `seed ${seed}`)
    assert.ok(fired.length > 10, `seed ${seed}: crons fire`)
  }
})

function problemsOf({ changes, calmFrom, strayRuns, overdue }: History): string[] {
  const taken = new Set<string>()
  const ofChanges = changes.flatMap((change) => {
    const name = `${change.cron_id} ${change.due?.toISOString()}`
    const isSecond = change.is_fired && taken.has(name)
    if (change.is_fired) taken.add(name)
    const problems = change.is_fired ? problemsOfFiring(change, calmFrom) : problemsOfSetting(change)
    return [...(isSecond ? ["taken twice"] : []), ...problems].map((problem) => `${problem}: ${JSON.stringify(change)}`)
  })
  return [
    ...ofChanges,
    ...strayRuns.map((cronId) => `a run of ${cronId} has taken no due time`),
    ...overdue.map((cronId) => `${cronId} is overdue at the end`),
  ]
}

function* problemsOfSetting({ next, at, ...plan }: Change): Generator<string> {
  if (next?.getTime() !== nextRunDate(plan, at)?.getTime()) yield "a client's plan begins at another time"
}

function* problemsOfFiring({ due, next, at, runs, end_time, ...plan }: Change, calmFrom: Date): Generator<string> {
  if (due === null) return yield "taken without a due time"
  if (due > at) yield "taken before it was due"
  if (due > calmFrom && at.getTime() - due.getTime() > 1000) yield "late, although nothing failed"
  const hasEnded = end_time !== null && at.getTime() - end_time.getTime() > 60_000
  if (runs !== 1 && !(runs === 0 && hasEnded && next === null)) yield `${runs} runs`
  if (next === null) {
    const last = nextRun(plan.schedule, plan.timezone, at)
    if (last !== null && (end_time === null || last < end_time)) yield "no next due time"
    return
  }
  if (next <= due) yield "the next due time is not later"
  if (nextRun(plan.schedule, plan.timezone, new Date(next.getTime() - 1))?.getTime() !== next.getTime())
    yield "the next due time is none of the schedule"
  if (next > (nextRun(plan.schedule, plan.timezone, at) ?? next)) yield "a due time to come was left out"
}
