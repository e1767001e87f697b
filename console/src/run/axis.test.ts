import assert from "node:assert/strict"
import { test } from "node:test"
import { countText, ticksOf } from "./axis.js"

test("large counts are rounded", () => {
  assert.deepEqual([0, 999, 1234, 34_567].map(countText), ["0", "999", "1.2k", "35k"])
})

test("the marks of an axis are round and within it", () => {
  assert.deepEqual(ticksOf(1000), [0, 200, 400, 600, 800, 1000])
  assert.deepEqual(ticksOf(7300), [0, 2000, 4000, 6000])
  assert.deepEqual(ticksOf(1), [0, 1])
})
