import assert from "node:assert/strict"
import { test } from "node:test"
import { overwriteOf, removedKeys, updateOf } from "./state-update.js"

const hi = { type: "human", id: "m1", content: "hi" }

test("an update has only what was edited", () => {
  assert.deepEqual(updateOf({ a: 1, b: { c: [1] } }, { a: 1, b: { c: [2] } }), { b: { c: [2] } })
  assert.equal(updateOf({ a: 1, b: { c: [1] } }, { b: { c: [1] }, a: 1 }), undefined)
  assert.deepEqual(updateOf({}, { a: null }), { a: null })
})

test("edited messages replace all messages, so that removed ones are gone", () => {
  const hello = { ...hi, content: "hello" }

  assert.deepEqual(updateOf({ messages: [hi, { type: "ai", id: "m2", content: "yes" }] }, { messages: [hello] }), {
    messages: [{ type: "remove", id: "__remove_all__", content: "" }, hello],
  })
})

test("what a reducer combined is overwritten, and messages may have more fields than were written", () => {
  const wanted = { log: ["b"], messages: [hi], n: 1 }
  const written = { log: ["a", "b"], messages: [{ ...hi, additional_kwargs: {} }], n: 1 }

  assert.deepEqual(overwriteOf(wanted, written, ["log", "messages", "n"]), { log: { __overwrite__: ["b"] } })
  assert.equal(overwriteOf(wanted, { ...written, log: ["b"] }, ["log", "messages"]), undefined)
  assert.deepEqual(overwriteOf(wanted, { ...written, messages: [] }, ["messages"]), {
    messages: { __overwrite__: [hi] },
  })
})

test("fields that an edit left out are named", () => {
  assert.deepEqual(removedKeys({ a: 1, b: 2 }, { b: 2 }), ["a"])
})
