import assert from "node:assert/strict"
import { test } from "node:test"
import { rowAfter } from "./list-keys.js"

test("keys move by a row, by what is in view, and to the ends, and stay within the list", () => {
  const after = (key: string, current: number) => rowAfter(key, current, 10_000, 12)

  assert.deepEqual(
    ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"].map((key) => after(key, 100)),
    [101, 99, 112, 88, 0, 9999],
  )
  assert.deepEqual([after("ArrowUp", 0), after("PageDown", 9995), after("a", 5)], [0, 9999, undefined])
})
