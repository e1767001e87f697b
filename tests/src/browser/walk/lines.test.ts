import assert from "node:assert/strict"
import { test } from "node:test"
import { differenceOf } from "./lines.js"

test("a page agrees when it has the same lines, in any order", () => {
  assert.equal(differenceOf(["a | idle", "b | busy"], ["b | busy", "a | idle"]), undefined)
  assert.match(differenceOf(["a | idle"], ["a | busy"]) ?? "", /shows “a | idle”, the API says “a | busy”/)
  assert.match(differenceOf(["a"], ["a", "b"]) ?? "", /shows nothing more, the API says “b”/)
  assert.match(differenceOf(["a", "a"], ["a"]) ?? "", /shows “a”/)
})

test("a page with only the rows in view has no wrong one, and not none", () => {
  assert.equal(differenceOf(["a"], ["a", "b"], true), undefined)
  assert.match(differenceOf(["c"], ["a", "b"], true) ?? "", /shows “c”, the API says “a”, “b”/)
  assert.match(differenceOf([], ["a"], true) ?? "", /shows nothing more, the API says “a”/)
})
