import assert from "node:assert/strict"
import { test } from "node:test"
import { sharedRuns } from "./shared-runs.js"

test("calls during a run share one that begins after them, also when a run fails", async () => {
  const runs: { end: (error?: Error) => void }[] = []
  const call = sharedRuns(async () => {
    const number = runs.length
    await new Promise<void>((resolve, reject) => {
      runs.push({ end: (error) => (error ? reject(error) : resolve()) })
    })
    return number
  })
  const begun = async (count: number) => {
    while (runs.length < count) await new Promise(setImmediate)
  }

  const first = call()
  const during = Array.from({ length: 100 }, call)
  await begun(1)
  runs[0]?.end()
  assert.equal(await first, 0)
  await begun(2)
  const failing = Array.from({ length: 3 }, call)
  runs[1]?.end()
  assert.deepEqual(new Set(await Promise.all(during)), new Set([1]))
  await begun(3)
  const last = call()
  runs[2]?.end(new Error("failed"))
  const outcomes = await Promise.allSettled(failing)
  await begun(4)
  runs[3]?.end()
  const alone = [await last]
  const later = call()
  await begun(5)
  runs[4]?.end()
  alone.push(await later)

  assert.deepEqual([...new Set(outcomes.map(({ status }) => status))], ["rejected"])
  assert.deepEqual([alone, runs.length], [[3, 4], 5])
})
