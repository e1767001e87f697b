import assert from "node:assert/strict"
import { test } from "node:test"
import { pauseAfter, until } from "./until.js"

test("until returns the value as soon as the condition holds", async () => {
  const answers = [undefined, null, false, 0, "", "here"]

  const value: string = await until(() => answers.shift() as string | undefined, { what: "it is here" })

  assert.equal(value, "here")
  assert.deepEqual(answers, [])
})

test("a condition that never holds is named in the error, with its last value", async () => {
  const never = until(async () => 0, { what: "the run is final", timeoutMs: 1 })

  await assert.rejects(never, /until the run is final; the last value was 0/)
})

test("an error in the condition ends the wait", async () => {
  const broken = until(() => Promise.reject(new Error("no such run")), { what: "the run is final" })

  await assert.rejects(broken, /no such run/)
})

test("the interval grows with the waiting time, up to a twentieth of it", () => {
  const pauses = [0, 200, 500, 1000, 60_000].map(pauseAfter)

  assert.deepEqual(pauses, [10, 10, 25, 50, 50])
})
