import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "../testing/fields-of.js"
import { limitedWorks } from "./limited-works.js"

test("so many works go on at once, the others follow in their order, also after one that fails", async () => {
  const limited = limitedWorks(2)
  const begun: number[] = []
  const ends: ((error?: Error) => void)[] = []
  const work = (n: number) =>
    limited(() => {
      begun.push(n)
      return new Promise<number>((resolve, reject) => {
        ends[n] = (error) => (error ? reject(error) : resolve(n))
      })
    })
  const all = [0, 1, 2, 3].map(work)
  const settled = Promise.allSettled(all)

  assert.deepEqual(begun, [0, 1])
  ends[1]?.(new Error("no"))
  await assert.rejects(all[1] as Promise<number>, /no/)
  assert.deepEqual(begun, [0, 1, 2])
  ends[0]?.()
  await all[0]
  assert.deepEqual(begun, [0, 1, 2, 3])
  ends[2]?.()
  ends[3]?.()
  assert.deepEqual(fieldsOf(await settled, "status"), ["fulfilled", "rejected", "fulfilled", "fulfilled"])
  assert.equal(await limited(async () => "free"), "free")
})
