import assert from "node:assert/strict"
import { test } from "node:test"
import type { Call, Value } from "../histories/call.js"
import { holes } from "./lossy-campaign.js"

const read = (value: Value): Call => ({
  thread: "t",
  client: "a",
  what: { op: "state" },
  calledAt: 0,
  returnedAt: 1,
  outcome: { is: "ok", value },
})

test("a state without a part that came before the rest is a hole, and one that is only short is none", () => {
  assert.deepEqual(holes([read({ log: ["x/in", "x/0#1"] }), read({ log: [] })]), [])
  assert.match(holes([read({ log: ["x/in", "x/1#1"] })]).join(), /has no x\/0/)
  assert.match(holes([read({ log: ["x/0#1"] })]).join(), /has no x\/in/)
  assert.match(holes([read({ log: ["x/in"], lacks: "task" })]).join(), /has no task/)
})

test("a run that failed by what is missing is a hole", () => {
  const failed: Call = { ...read({ status: "error" }), what: { op: "run", run: "x" } }

  assert.deepEqual(holes([failed]), ["t: x has ended in an error"])
})
