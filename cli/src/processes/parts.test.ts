import assert from "node:assert/strict"
import { test } from "node:test"
import { createParts, type Part } from "./parts.js"

const part = (name: string, told: string[], stop = async () => undefined): Part => ({
  name,
  stop: async () => {
    told.push(`stop ${name}`)
    await stop()
  },
  kill: () => told.push(`kill ${name}`),
})

test("parts stop in the reverse order of their start", async () => {
  const told: string[] = []
  const parts = createParts()
  for (const name of ["postgres", "control"]) await parts.add(part(name, told))

  await parts.stop()

  assert.deepEqual(told, ["stop control", "stop postgres"])
})

test("a part that arrives during the stop is stopped too", async () => {
  const told: string[] = []
  const parts = createParts()
  await parts.stop()

  await parts.add(part("late", told))

  assert.deepEqual(told, ["stop late"])
})

test("a part that cannot stop does not keep the others from it", async () => {
  const told: string[] = []
  const parts = createParts()
  await parts.add(part("postgres", told))
  await parts.add(part("control", told, () => Promise.reject(new Error("stuck"))))

  await assert.rejects(parts.stop(), /stuck/)

  assert.deepEqual(told, ["stop control", "stop postgres"])
})
