import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { judgeCrash, ProjectCrashes } from "./project-crashes.js"
import { endOf, project, seen, startTestPool } from "./testing/test-pool.js"

const crashed = (servedMs: number, wasBusy: boolean, youngBefore = 0) => judgeCrash({ servedMs, wasBusy, youngBefore })

test("P17: a crash without work counts at once, a crash with work counts if it is the second soon after a start", () => {
  assert.equal(crashed(3_600_000, false).counts, true)
  assert.equal(crashed(0, false).counts, true)
  assert.equal(crashed(3_600_000, true).counts, false)
  assert.equal(crashed(5_000, true).counts, false)
  assert.equal(crashed(5_000, true, 1).counts, true)
  assert.equal(crashed(30_000, true, 1).counts, false)
  const rows = [crashed(5_000, true, 1), crashed(30_000, false, 4), crashed(1_000, false)]
  assert.deepEqual(fieldsOf(rows, "youngInARow"), [2, 0, 1])
})

test("P17: the crash count is reset ten minutes after the last crash", () => {
  let now = 0
  const crashes = new ProjectCrashes(() => now)
  const none = crashes.report()
  crashes.record("exit code 3")
  now += 599_999
  crashes.record("signal SIGKILL")
  const two = crashes.report()

  now += 600_000
  const later = crashes.report()
  crashes.record("exit code 4")

  for (const report of [none, later]) assert.deepEqual(report, { count: 0, last: null })
  assert.deepEqual(two, { count: 2, last: "signal SIGKILL" })
  assert.deepEqual(crashes.report(), { count: 1, last: "exit code 4" })
})

test("P17: a project whose worker exits without a run's doing is reported", async () => {
  const crashes = new ProjectCrashes()
  await using _ = await startTestPool({ project: project({ chat: "./exit:later" }), crashes })

  await until(() => crashes.report().count >= 2, { what: "two crashes are counted" })

  assert.equal(crashes.report().last, "exit code 3")
})

test("P17: one run that kills its worker is not counted as the project's crash, three in a row are", async () => {
  const crashes = new ProjectCrashes()
  await using testing = await startTestPool({ crashes })
  const free = () => until(() => testing.pool.freeSlots() === 4, { what: "the worker is back" })

  await endOf(testing.run([{ do: "kill" }]))
  for (let attempt = 2; attempt <= 4; attempt++) await endOf(testing.run([{ do: "kill" }], { runsAlone: true }))
  await free()
  const afterOne = crashes.report().count
  for (let n = 2; n <= 3; n++) {
    await endOf(testing.run([{ do: "kill" }]))
    await free()
  }

  assert.equal(afterOne, 0)
  assert.deepEqual(crashes.report(), { count: 2, last: "signal SIGKILL" })
})

test("P17: requested exits do not count", async () => {
  const crashes = new ProjectCrashes()
  const testing = await startTestPool({ crashes })
  const run = testing.run([{ do: "wait" }])
  await seen(run, "waiting")

  await testing.pool.replaceWorkers(project())
  await testing.pool.stop(0)

  assert.deepEqual(crashes.report(), { count: 0, last: null })
})
