import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import type { Database } from "../db/database.js"
import { silent as log } from "../testing/test-cluster.js"
import { type Outbox, OutboxLoop } from "./outbox-loop.js"

const db = { listen: async () => ({ close: async () => undefined }) } as unknown as Database

/** A loop whose time passes only when the test says so. */
async function loopOf(t: TestContext, outbox: Pick<Outbox<string>, "take" | "nextMs" | "deliver">) {
  t.mock.timers.enable({ apis: ["setTimeout"] })
  const loop = new OutboxLoop({ db, log, outbox: { name: "letters", channels: ["letters"], ...outbox } })
  await loop.start()
  const pass = async (ms: number) => {
    t.mock.timers.tick(ms)
    for (let turns = 0; turns < 5; turns++) await turn()
  }
  await pass(0)
  return { loop, pass }
}

test("what fails before its result is stored is tried again when its hold is over", async (t) => {
  const started: number[] = []
  let now = 0
  let heldUntil = 0
  const { loop, pass } = await loopOf(t, {
    take: async () => {
      if (now < heldUntil) return []
      heldUntil = now + 500
      return ["a"]
    },
    nextMs: async () => heldUntil - now,
    deliver: async () => {
      started.push(now)
      throw new Error("the database is away")
    },
  })
  for (; now < 1200; now += 100) await pass(100)
  await loop.stop()

  assert.deepEqual(started, [0, 500, 1000])
})

test("what is due and cannot be taken is asked for now and then", async (t) => {
  let asked = 0
  const { loop, pass } = await loopOf(t, {
    take: async () => {
      asked++
      return []
    },
    nextMs: async () => 0,
    deliver: async () => false,
  })
  for (let ms = 0; ms < 1000; ms += 10) await pass(10)
  await loop.stop()

  assert.ok(asked > 2 && asked <= 12, `${asked} times in a second`)
})
