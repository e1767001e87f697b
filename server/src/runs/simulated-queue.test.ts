/** Some histories of the queue in simulated time: the same one each time, and one that the commit chooses. `npm run simulate -- queue` takes many. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { seedOfCommit } from "@superstep/toolkit/testing/seed-of-commit"
import { preparedDatabase } from "./testing/simulation/database.js"
import { simulate } from "./testing/simulation/simulate.js"

const again = (seed: number) => `npm run simulate -- queue --seeds 1 --from ${seed} --verbose`

test("whatever fails meanwhile, no claim is held twice, no run is lost, and each one ends (R1 to R5, R7, R8, R10, R12, M2, M4)", async (t) => {
  await using prepared = await preparedDatabase()

  for (const seed of [7, seedOfCommit()]) {
    t.diagnostic(`seed ${seed}`)
    const { broken } = await simulate(prepared.session, seed)
    assert.deepEqual(broken, [], again(seed))
  }
})

test("a seed gives the same history each time", async () => {
  await using prepared = await preparedDatabase()
  const [first, second]: [string[], string[]] = [[], []]

  const { broken } = await simulate(prepared.session, 1, (line) => first.push(line))
  await simulate(prepared.session, 1, (line) => second.push(line))

  assert.deepEqual(broken, [], again(1))
  assert.deepEqual(first, second)
  assert.ok(first.length > 20)
})
