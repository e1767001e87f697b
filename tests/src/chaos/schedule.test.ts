import assert from "node:assert/strict"
import { test } from "node:test"
import { seededRandom } from "../testing/seeded-random.js"
import { points, targets } from "./kill.js"
import { roundOf } from "./schedule.js"

const rounds = (seed: number, count: number) => {
  const random = seededRandom(seed)
  return Array.from({ length: count }, (_, number) => roundOf(number, random, "folder"))
}

test("the same seed gives the same rounds, another one others", () => {
  assert.deepEqual(rounds(5, 30), rounds(5, 30))
  assert.notDeepEqual(rounds(5, 30), rounds(6, 30))
})

test("18 rounds kill each target at each point, and no round strikes oftener than a run survives", () => {
  const all = rounds(5, points.length * targets.length)

  const first = new Set(all.map(({ strikes: [strike] }) => `${strike?.target} ${strike?.point}`))
  assert.equal(first.size, points.length * targets.length)
  for (const { strikes } of all) assert.equal(strikes.length, 2)
})
