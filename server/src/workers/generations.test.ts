import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import {
  createTestPool,
  endOf,
  environmentOf,
  isAlive,
  project,
  resultOf,
  seen,
  startSecondWorker,
  startTestPool,
  type TestPool,
} from "./testing/test-pool.js"

/** The generation that currently executes a graph: the first number of the worker's id. */
async function generationOf(testing: TestPool, graphId: string): Promise<number> {
  const { SUPERSTEP_WORKER_ID } = await environmentOf(testing.run([{ do: "environment" }, { do: "done" }], { graphId }))
  return Number(SUPERSTEP_WORKER_ID?.split(".")[0])
}

test("G1, G5: new runs use the new generation, the old one finishes its runs, and concurrent reloads run one after another", async () => {
  await using testing = await startTestPool()
  const old = testing.run([{ do: "wait" }])
  await seen(old, "waiting")

  const report = await testing.pool.replaceWorkers(project())

  assert.deepEqual(report, { graphs: ["chat"], failed: [] })
  assert.equal(await generationOf(testing, "chat"), 2)
  assert.deepEqual(old.ends, [])
  testing.pool.cancel(old.order.claimId)
  await resultOf(old)

  await Promise.all([testing.pool.replaceWorkers(project()), testing.pool.replaceWorkers(project())])

  assert.equal(await generationOf(testing, "chat"), 4)
})

/** What a pool reports that serves one graph. */
const serving = (graphId: string) => ({ graphs: [graphId], failed: [], languages: new Map([[graphId, "javascript"]]) })

test("G2: a graph that no longer loads is served by the last generation that loaded it", async () => {
  await using testing = await startTestPool({ project: project({ chat: "./a:a", agent: "./b:b" }) })

  const report = await testing.pool.replaceWorkers(project({ chat: "./broken:a", agent: "./b:b", fresh: "./broken:c" }))

  assert.deepEqual(report.graphs, ["agent"])
  assert.deepEqual(fieldsOf(report.failed, "graphId"), ["chat", "fresh"])
  assert.match(report.failed[0]?.message ?? "", /^SyntaxError/)
  assert.match(report.failed[0]?.codeFrame ?? "", /expot const graph/)
  assert.equal(await generationOf(testing, "chat"), 1)
  assert.equal(await generationOf(testing, "agent"), 2)
  const serving = testing.pool.report()
  assert.deepEqual([...serving.graphs].sort(), ["agent", "chat"])
  assert.deepEqual(fieldsOf(serving.failed, "graphId"), ["fresh"])

  await testing.pool.replaceWorkers(project({ chat: "./a:a", agent: "./b:b" }))
  assert.deepEqual([await generationOf(testing, "chat"), await generationOf(testing, "agent")], [3, 3])
})

test("G2: when the new sources crash while loading, the old generation keeps serving", async () => {
  await using testing = await startTestPool()

  const report = await testing.pool.replaceWorkers(project({ chat: "./exit:now" }))

  assert.equal(report.failed.length, 1)
  assert.equal(await generationOf(testing, "chat"), 1)
  assert.deepEqual(testing.pool.report(), serving("chat"))
})

test("G3: a generation that serves no graph any more ends after its last run", async () => {
  await using testing = await startTestPool()
  const run = testing.run([{ do: "environment" }, { do: "wait" }])
  const { PID } = await environmentOf(run)
  const pid = Number(PID)

  await testing.pool.replaceWorkers(project({ other: "./x:y" }))

  assert.deepEqual(testing.pool.report(), serving("other"))
  assert.equal(isAlive(pid), true)
  testing.pool.cancel(run.order.claimId)
  await until(() => !isAlive(pid), { what: "the old process has ended" })
  assert.equal(run.ends.length, 1)
  assert.ok("done" in (run.ends[0] ?? {}))
})

test("G4: when the last processes of an old generation die, its graphs count as failed", async () => {
  await using testing = await startTestPool()
  await testing.pool.replaceWorkers(project({ chat: "./broken:a" }))

  await endOf(testing.run([{ do: "kill" }]))

  await until(() => testing.pool.report().graphs.length === 0, { what: "the graph is no longer served" })
  const { error } = await resultOf(testing.run([]))
  assert.equal(error?.error, "GraphLoadError")
})

test("G6: a generation starts with one worker, however many the previous one had", async () => {
  await using testing = await startTestPool({ workers: 2, limits: { maxRuns: 2 } })
  const atReady = testing.pool.freeSlots()
  await startSecondWorker(testing)
  const grown = testing.pool.freeSlots()

  // With sources that only the first worker can load, the reload does not wait for a second worker.
  const report = await testing.pool.replaceWorkers(project({ chat: "./first:only" }))

  assert.deepEqual([atReady, grown], [2, 4])
  assert.deepEqual(report, { graphs: ["chat"], failed: [] })
  assert.equal(await generationOf(testing, "chat"), 2)
  await until(() => testing.pool.freeSlots() === 2, { what: "the run's slot is free again" })
})

test("G6: a stop between two processes that never loaded completes", async () => {
  const pool = createTestPool({ project: project({ chat: "./killed:once" }) })
  const starting = pool.start()

  await until(() => pool.deaths === 1, { what: "the first process died" })
  await pool.stop(0)

  assert.deepEqual(await starting, { graphs: [], failed: [] })
})
