import assert from "node:assert/strict"
import { test } from "node:test"
import { pathThrough } from "./path.js"

test("a line begins at its first point, ends at its last, and bends at those between", () => {
  const [a, b, c] = [
    { x: 0, y: 0 },
    { x: 10, y: 20 },
    { x: 0, y: 40 },
  ]

  assert.equal(pathThrough([a, b, c]), "M 0 0 Q 10 20 0 40")
  assert.equal(pathThrough([a, b]), "M 0 0 L 10 20")
  assert.equal(pathThrough([]), "")
})
