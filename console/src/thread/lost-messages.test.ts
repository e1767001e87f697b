import assert from "node:assert/strict"
import { test } from "node:test"
import { unfinishedIds, withoutLost } from "./lost-messages.js"

const hi = { type: "human", id: "h", content: "hi" }
const begun = { type: "ai", id: "a1", content: "You sa" }
const again = { type: "ai", id: "a2", content: "You said" }

test("what a lost attempt had begun to say is gone, and what the next one says is there", () => {
  const lost = new Set(unfinishedIds([hi, begun], [hi]))

  assert.deepEqual([...lost], ["a1"])
  assert.deepEqual(withoutLost([hi, begun, again], lost), [hi, again])
})

test("a message of a person is not lost, and neither is a finished answer", () => {
  assert.deepEqual(unfinishedIds([hi, again], [again]), [])
  assert.deepEqual(unfinishedIds([hi], undefined), [])
})
