import assert from "node:assert/strict"
import { test } from "node:test"
import { createParts, type Part } from "./parts.js"

const part = (name: string, reported: string[], stop = async () => undefined): Part => ({
  name,
  stop: async () => {
    reported.push(`stop ${name}`)
    await stop()
  },
  kill: () => reported.push(`kill ${name}`),
})

test("a part that is added during the stop is stopped too", async () => {
  const reported: string[] = []
  const parts = createParts()
  await parts.stop()

  await parts.add(part("late", reported))

  assert.deepEqual(reported, ["stop late"])
})

test("parts stop in the reverse order of their start, also when one of them fails to stop", async () => {
  const reported: string[] = []
  const parts = createParts()
  await parts.add(part("postgres", reported))
  await parts.add(part("control", reported, () => Promise.reject(new Error("stuck"))))

  await assert.rejects(parts.stop(), /stuck/)

  assert.deepEqual(reported, ["stop control", "stop postgres"])
})
