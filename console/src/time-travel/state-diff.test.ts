import assert from "node:assert/strict"
import { test } from "node:test"
import { changesOf } from "./state-diff.js"

test("equal states have no changes", () => {
  assert.deepEqual(changesOf({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }), [])
})

test("a message more, a changed word and a removed field are named by their places", () => {
  const before = { messages: [{ id: "m1", content: "hi" }], topic: "weather", "odd key": 1 }
  const after = {
    messages: [
      { id: "m1", content: "hello" },
      { id: "m2", content: "yes" },
    ],
    count: 1,
    "odd key": 2,
  }

  assert.deepEqual(changesOf(before, after), [
    { path: "messages[0].content", kind: "changed", before: "hi", after: "hello" },
    { path: "messages[1]", kind: "added", after: { id: "m2", content: "yes" } },
    { path: "topic", kind: "removed", before: "weather" },
    { path: "odd key", kind: "changed", before: 1, after: 2 },
    { path: "count", kind: "added", after: 1 },
  ])
})

test("a message that is removed from the middle of a list is one change", () => {
  const [a, b, c] = ["a", "b", "c"].map((id) => ({ id, content: id }))

  assert.deepEqual(changesOf({ messages: [a, b, c] }, { messages: [a, c] }), [
    { path: "messages[1]", kind: "removed", before: b },
  ])
})

test("a state that was not there before is added as a whole, and text is compared as a whole", () => {
  const long = "word ".repeat(40)

  assert.deepEqual(changesOf({}, { a: { b: 1 } }), [{ path: "a", kind: "added", after: { b: 1 } }])
  assert.deepEqual(changesOf({ a: long }, { a: `${long}.` }), [
    { path: "a", kind: "changed", before: long, after: `${long}.` },
  ])
})
