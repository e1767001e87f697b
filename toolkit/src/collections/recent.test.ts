import assert from "node:assert/strict"
import { test } from "node:test"
import { Recent } from "./recent.js"

test("the value that was used longest ago goes first", () => {
  const recent = new Recent<string, number>(2)
  recent.set("a", 1)
  recent.set("b", 2)
  recent.get("a")
  recent.set("c", 3)

  assert.deepEqual(
    ["a", "b", "c"].map((key) => recent.get(key)),
    [1, undefined, 3],
  )
})
