import assert from "node:assert/strict"
import { test } from "node:test"
import { newKeys } from "./item-keys.js"

test("items keep their keys when one is removed, and a new one never gets the key of an old one", () => {
  const keys = newKeys()
  const [a, b, c] = keys.of(3)

  keys.remove(1)
  assert.deepEqual(keys.of(2), [a, c])
  const [, , d] = keys.of(3)

  assert.equal(new Set([a, b, c, d]).size, 4)
  assert.deepEqual(keys.of(3), [a, c, d])
})
