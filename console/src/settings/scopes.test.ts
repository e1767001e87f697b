import assert from "node:assert/strict"
import { test } from "node:test"
import { expiryOf, toggled } from "./scopes.js"

test("a key may always read, and scopes keep their order", () => {
  assert.deepEqual(toggled(["run"], "admin", true), ["read", "run", "admin"])
  assert.deepEqual(toggled(["read", "run"], "read", false), ["read", "run"])
})

test("a key expires after whole days, or never", () => {
  assert.equal(expiryOf("2", 0), "1970-01-03T00:00:00.000Z")
  assert.equal(expiryOf(" ", 0), null)
  for (const wrong of ["0", "-1", "1.5", "soon"]) assert.equal(expiryOf(wrong, 0), undefined)
})
