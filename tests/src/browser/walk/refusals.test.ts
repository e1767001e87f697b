import assert from "node:assert/strict"
import { test } from "node:test"
import { isTold, type Refusal, textsOf } from "./refusals.js"

const refusal = (failedAtMs: number, asked = "POST /v2/api-keys"): Refusal => ({
  at: "/settings",
  asked,
  status: 409,
  texts: ["the name is taken", "name_taken"],
  failedAtMs,
})

test("a refusal is told by a note that has its text or its code, and that appeared after it", () => {
  const failed = refusal(1000)
  const isToldBy = (text: string, sinceMs: number) => isTold(failed, [failed], [{ text, sinceMs }])

  assert.equal(isToldBy("Sorry: the name is taken Choose another one", 1004), true)
  assert.equal(isToldBy("It cannot be done. name_taken", 1004), true)
  assert.equal(isToldBy("No keys yet", 1004), false)
  assert.equal(isToldBy("the name is taken", 990), false)
  assert.equal(isTold(failed, [failed], []), false)
})

test("the note about the first of several equal refusals counts for all", () => {
  const [first, second] = [refusal(1000), refusal(9000, "GET /v2/api-keys")]

  assert.equal(isTold(second, [first, second], [{ text: "the name is taken", sinceMs: 1010 }]), true)
  assert.equal(isTold(second, [second], [{ text: "the name is taken", sinceMs: 1010 }]), false)
})

test("what a note must have is in the reply", () => {
  assert.deepEqual(textsOf(422, `{"detail":[{"loc":["body","name"],"msg":"expected a text"}],"code":"invalid"}`), [
    "expected a text",
    "invalid",
  ])
  assert.deepEqual(textsOf(503, `{"detail":"it is\\n paused","code":"paused"}`), ["it is paused", "paused"])
  assert.deepEqual(textsOf(502, "bad gateway"), ["bad gateway"])
  assert.deepEqual(textsOf(500, ""), ["The server answered with 500."])
})
