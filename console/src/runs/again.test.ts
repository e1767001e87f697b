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

test("a run that began at an earlier checkpoint goes on where it stopped, and asks for the same otherwise", () => {
  const config = { configurable: { checkpoint_id: "1ef0", checkpoint_ns: "", model: "small" }, tags: ["a"] }
  const kwargs = {
    input: { text: "hi" },
    config,
    interrupt_before: ["pay"],
    webhook: "https://example.com/ended",
    durability: "sync" as const,
    subgraphs: true,
  }
  const same = {
    interruptBefore: ["pay"],
    webhook: "https://example.com/ended",
    durability: "sync",
    streamSubgraphs: true,
  }

  assert.deepEqual(requestOf({ kwargs, input_saved: true }), {
    ...same,
    input: null,
    config: { configurable: { model: "small" }, tags: ["a"] },
  })
  assert.deepEqual(requestOf({ kwargs, input_saved: false }), { ...same, input: { text: "hi" }, config })
})

test("what failed or was stopped can be run again; what waits for an answer, or is not over, cannot", () => {
  const can = (
    status: "error" | "timeout" | "interrupted" | "running" | "success",
    cancel_reason: string | null = null,
  ) => canRunAgain({ status, cancel_reason })

  assert.deepEqual([can("error"), can("timeout"), can("interrupted", "a client cancelled it")], [true, true, true])
  assert.deepEqual([can("interrupted"), can("running"), can("success")], [false, false, false])
})
