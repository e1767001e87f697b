/** P20: a server starts with one worker of each language, and starts the next when the load requires it. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { endOf, environmentOf, resultOf, startTestPool } from "./testing/test-pool.js"
import { WorkerLoad } from "./worker-load.js"

test("P20: the second worker starts when the first is full, and no third starts", async () => {
  await using testing = await startTestPool({ workers: 2, limits: { maxRuns: 2 } })
  const runs = [1, 2].map(() => testing.run([{ do: "environment" }, { do: "wait" }]))

  await until(() => testing.pool.freeSlots() === 2, { what: "the second worker serves" })
  runs.push(...[1, 2].map(() => testing.run([{ do: "environment" }, { do: "wait" }])))

  const workers = await Promise.all(runs.map(environmentOf))
  assert.deepEqual(fieldsOf(workers, "SUPERSTEP_WORKER_ID"), ["1.1.1", "1.1.1", "1.2.1", "1.2.1"])
  assert.equal(testing.pool.freeSlots(), 0)
})

test("P20: a run that blocks its worker does not delay others: a second worker starts and executes them", async () => {
  await using testing = await startTestPool({ workers: 2, limits: { overloadMs: 50 } })
  const burning = testing.run([{ do: "environment" }, { do: "pause" }, { do: "spin" }])
  const { SUPERSTEP_WORKER_ID: held } = await environmentOf(burning)

  const isReplaced = () => testing.pool.fullWorkers().event_loop === 1 && testing.pool.freeSlots() === 4
  await until(isReplaced, { what: "the blocked worker accepts no more runs, and another one serves" })
  const others = [1, 2, 3].map(() => testing.run([{ do: "environment" }, { do: "done" }]))

  for (const other of others) {
    assert.notEqual((await environmentOf(other)).SUPERSTEP_WORKER_ID, held)
    await resultOf(other)
  }
  assert.deepEqual(burning.ends, [])
})

test("P20: after a death two workers run, so that one still serves after the next death", async () => {
  await using testing = await startTestPool({ workers: 2 })

  await endOf(testing.run([{ do: "kill" }]))

  await until(() => testing.pool.freeSlots() === 8, { what: "its successor and a second worker serve" })
})

test("P20: a worker counts as overloaded when it reports no pause for some time", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "setImmediate"] })
  let [running, overloads, rooms] = [0, 0, 0]
  const load = new WorkerLoad({
    limits: { maxRuns: 100, memoryMb: 0 },
    overloadMs: 1000,
    running: () => running,
    isHeard: () => true,
    onRoom: () => {
      rooms += 1
    },
    onOverload: () => {
      overloads += 1
    },
  })
  const report = (busy: number) => {
    t.mock.timers.tick(400)
    load.reported({ busy, memoryMb: 100 })
  }
  running = 1
  load.runStarted()

  for (const busy of [1, 0.2, 1, 0.2]) report(busy)
  assert.deepEqual([overloads, load.isOverloaded], [0, false])
  for (const busy of [1, 1, 1]) report(busy)
  assert.deepEqual([overloads > 0, load.isOverloaded, load.room.free], [true, true, 9])
  for (const ms of [1000, 1000, 1000]) t.mock.timers.tick(ms)
  assert.deepEqual(load.room, { free: 0, limit: "event_loop" })
  report(0.1)
  assert.deepEqual([rooms, load.isOverloaded, load.room.free], [1, false, 50])
  running = 0
  load.runEnded()
  const before = overloads
  t.mock.timers.tick(10_000)
  assert.equal(overloads, before)
})
