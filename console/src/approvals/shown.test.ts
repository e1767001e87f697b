import assert from "node:assert/strict"
import { test } from "node:test"
import { marksAfter, marksOf, shownOf } from "./shown.js"

const list = (...keys: string[]) => keys.map((key) => ({ key }))

test("a question stays shown while others arrive before it and leave around it", () => {
  const first = shownOf(list("b", "c"), undefined, undefined)

  assert.equal(first, "b")
  assert.equal(shownOf(list("a", "b", "c"), undefined, first), "b")
  assert.equal(shownOf(list("a", "b"), undefined, first), "b")
})

test("after its answer nothing is shown until a person chooses", () => {
  assert.equal(shownOf(list("b", "c"), undefined, "a"), undefined)
  assert.equal(shownOf(list("b", "c"), "c", "a"), "c")
})

test("a link to a question that waits no longer shows no other one, and does not close an open one", () => {
  assert.equal(shownOf(list("b"), "a", undefined), undefined)
  assert.equal(shownOf(list("b"), "a", "b"), "b")
})

test("marking all marks the present questions, not later ones", () => {
  const marks = marksOf("all", list("a", "b"))

  assert.deepEqual([...marks], ["a", "b"])
  assert.deepEqual([...marksOf(new Set(["b"]), list("a", "b", "c"))], ["b"])
})

test("a question whose answer was refused keeps its mark", () => {
  const asked = ["t1", "t2"].map((threadId) => ({ waiting: { key: `${threadId}/i`, threadId } }))
  const sent = [
    { threadId: "t1", runId: undefined, error: new Error("busy") },
    { threadId: "t2", runId: "r", error: undefined },
  ]

  assert.deepEqual([...marksAfter(new Set(["t1/i", "t2/i", "t3/i"]), asked, sent)], ["t1/i", "t3/i"])
})
