import assert from "node:assert/strict"
import { test } from "node:test"
import { limited } from "./limited.js"

test("so many works run at a time, in the order in which they came, and one that fails gives its place on", async () => {
  const inTurn = limited(2)
  const started: number[] = []
  const ends: (() => void)[] = []
  const work = (n: number) =>
    inTurn(async () => {
      started.push(n)
      await new Promise<void>((resolve) => ends.push(resolve))
      if (n === 1) throw new Error("broken")
    })
  const all = [1, 2, 3, 4].map(work)
  const failed = assert.rejects(all[0] as Promise<void>, /broken/)
  await new Promise(setImmediate)
  assert.deepEqual(started, [1, 2])

  ends[0]?.()
  await failed
  await new Promise(setImmediate)

  assert.deepEqual(started, [1, 2, 3])
  for (const n of [1, 2, 3]) {
    ends[n]?.()
    await new Promise(setImmediate)
  }
  await Promise.all(all.slice(1))
  assert.deepEqual(started, [1, 2, 3, 4])
})
