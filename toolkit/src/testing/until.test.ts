import assert from "node:assert/strict"
import { test } from "node:test"
import { until } from "./until.js"

test("a fact is given back as soon as it holds", async () => {
  const answers = [undefined, null, false, 0, "", "here"]

  const value: string = await until(() => answers.shift() as string | undefined, { what: "it is here" })

  assert.equal(value, "here")
  assert.deepEqual(answers, [])
})

test("a fact that never holds is named, with what it was at last", async () => {
  const never = until(async () => 0, { what: "the run is final", timeoutMs: 1 })

  await assert.rejects(never, /until the run is final; it is 0/)
})

test("an error of the fact ends the waiting", async () => {
  const broken = until(() => Promise.reject(new Error("no such run")), { what: "the run is final" })

  await assert.rejects(broken, /no such run/)
})
