import assert from "node:assert/strict"
import { test } from "node:test"
import { Turns } from "./turns.js"

/** Takes a turn, and records when it starts. */
function taker(turns: Turns) {
  const order: string[] = []
  const take = (name: string, threadId = "t") => {
    const turn = turns.take(threadId)
    const come = () => turn.come().then(() => order.push(name))
    return { come, end: () => turn.end() }
  }
  return { order, take }
}

test("turns start in the order in which they were taken, whichever request is ready first", async () => {
  const turns = new Turns({ maxWaitMs: 60_000 })
  const { order, take } = taker(turns)
  const [one, two, three, elsewhere] = [take("one"), take("two"), take("three"), take("elsewhere", "other")]

  const third = three.come()
  const second = two.come()
  await elsewhere.come()
  await one.come()
  one.end()
  await second
  two.end()
  await third
  for (const turn of [three, elsewhere]) turn.end()
  await new Promise((resolve) => setImmediate(resolve))

  assert.deepEqual(order, ["elsewhere", "one", "two", "three"])
  assert.equal(turns.threads, 0)
})

test("a failed request gives up its turn, and later ones still wait for earlier ones", async () => {
  const { order, take } = taker(new Turns({ maxWaitMs: 60_000 }))
  const [one, two, three] = [take("one"), take("two"), take("three")]

  two.end()
  const third = three.come()
  await one.come()
  one.end()
  await third

  assert.deepEqual(order, ["one", "three"])
})

test("a request that is slow for too long loses its place, and delays only one other request", async () => {
  const { order, take } = taker(new Turns({ maxWaitMs: 1 }))
  const [slow, two, three] = [take("slow"), take("two"), take("three")]

  await two.come()
  two.end()
  await three.come()
  three.end()
  await slow.come()
  slow.end()

  assert.deepEqual(order, ["two", "three", "slow"])
})
