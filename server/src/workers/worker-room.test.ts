/** P19: how many runs a worker process accepts, according to its reported load. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { endOf, seen, startTestPool } from "./testing/test-pool.js"
import { type Load, roomOf } from "./worker-room.js"

const limits = { maxRuns: 1000, memoryMb: 1000 }
const idle = { running: 0, startedSince: 0, report: undefined }
const waiting = { running: 400, startedSince: 0, report: { busy: 0.2, memoryMb: 300, ended: 0 } }
const computing = { running: 4, startedSince: 0, report: { busy: 0.97, memoryMb: 300, ended: 0 } }
const short = { running: 12, startedSince: 0, report: { busy: 0.97, memoryMb: 300, ended: 20 } }

const cases: [name: string, load: Load, over: Partial<typeof limits>, free: number, limit?: string][] = [
  ["an idle worker takes what it can begin between two reports", idle, {}, 50],
  ["it takes no more before it has reported", { ...idle, running: 50 }, {}, 0, "event_loop"],
  ["runs that wait leave room for more", waiting, {}, 50],
  ["runs that were started since the report count", { ...waiting, startedSince: 45 }, {}, 5],
  ["a worker that computes takes a few", computing, {}, 6],
  ["and no more than those", { ...computing, running: 12 }, {}, 0, "event_loop"],
  ["and more if runs are short", short, {}, 38],
  ["the setting is the most", { ...waiting, running: 990 }, {}, 10],
  ["the setting is reached", { ...waiting, running: 1000 }, {}, 0, "jobs"],
  ["the setting may be small", idle, { maxRuns: 2 }, 2],
  ["memory is short", { ...waiting, report: { busy: 0.2, memoryMb: 751, ended: 0 } }, {}, 0, "memory"],
  ["memory has no limit", { ...waiting, report: { busy: 0.2, memoryMb: 9000, ended: 0 } }, { memoryMb: 0 }, 50],
]

for (const [name, load, over, free, limit] of cases) {
  test(`P19: ${name}`, () => {
    assert.deepEqual(roomOf(load, { ...limits, ...over }), { free, limit })
  })
}

test("P19: a worker that reports to be busy gets no more runs until it reports capacity, which is announced", async () => {
  await using testing = await startTestPool({ limits: { maxRuns: 100 } })
  let told = 0
  testing.pool.onFree(() => {
    told += 1
  })
  const runs = Array.from({ length: 11 }, () => testing.run([{ do: "wait" }]))

  const busy = testing.run([{ do: "report", busy: 0.99 }, { do: "environment" }, { do: "wait" }])
  await seen(busy, "environment")
  const free = testing.pool.freeSlots()
  const full = testing.pool.fullWorkers()
  const toldBefore = told
  const idle = testing.run([{ do: "report", busy: 0.1 }, { do: "environment" }, { do: "wait" }])
  await seen(idle, "environment")

  assert.deepEqual([free, full], [0, { jobs: 0, event_loop: 1, memory: 0 }])
  assert.equal(testing.pool.freeSlots(), 50)
  assert.equal(told, toldBefore + 1)
  for (const { order } of [...runs, busy, idle]) testing.pool.cancel(order.claimId)
  for (const run of [...runs, busy, idle]) await endOf(run)
  await until(() => testing.pool.freeSlots() === 50, { what: "the worker is idle again" })
})
