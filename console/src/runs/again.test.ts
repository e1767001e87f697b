import assert from "node:assert/strict"
import { test } from "node:test"
import { canRunAgain, requestOf } from "./again.js"

test("a run goes on where it stopped, or asks again for what is not in the thread", () => {
  const kwargs = { input: { text: "hi" }, config: { tags: ["a"] }, context: null, command: null }

  assert.deepEqual(requestOf({ kwargs, input_saved: true }), { input: null, config: { tags: ["a"] } })
  assert.deepEqual(requestOf({ kwargs, input_saved: false }), { input: { text: "hi" }, config: { tags: ["a"] } })
  assert.deepEqual(requestOf({ kwargs: { command: { resume: 1 } }, input_saved: false }), {
    input: null,
    command: { resume: 1 },
  })
})

test("what failed or was stopped can be run again; what waits for an answer, or is not over, cannot", () => {
  const can = (
    status: "error" | "timeout" | "interrupted" | "running" | "success",
    cancel_reason: string | null = null,
  ) => canRunAgain({ status, cancel_reason })

  assert.deepEqual([can("error"), can("timeout"), can("interrupted", "a client cancelled it")], [true, true, true])
  assert.deepEqual([can("interrupted"), can("running"), can("success")], [false, false, false])
})
