import assert from "node:assert/strict"
import { test } from "node:test"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { disturbances, points, targets } from "./kill.js"
import { roundOf } from "./schedule.js"

const rounds = (seed: number, count: number) => {
  const random = seededRandom(seed)
  return Array.from({ length: count }, (_, number) => roundOf(number, random, { folder: "folder" }))
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

test("more than two servers meet each disturbance in four rounds, at other points the next time", () => {
  const random = seededRandom(5)
  const place = { folder: "folder", disturbed: { pauseMs: 3000, cutMs: [2000] } }

  const all = Array.from({ length: 48 }, (_, number) => roundOf(number, random, place))

  const met = all.map(({ strikes: [first, second] }) => `${second?.target} after ${first?.point}`)
  for (const each of disturbances) assert.ok(met.slice(0, 4).some((words) => words.startsWith(each)))
  const pairs = new Set(met.filter((words) => disturbances.some((each) => words.startsWith(each))))
  assert.equal(pairs.size, disturbances.length * points.length)
})
