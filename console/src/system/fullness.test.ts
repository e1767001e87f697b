import assert from "node:assert/strict"
import { test } from "node:test"
import { expiryTone, toneOf } from "./fullness.js"

test("what is nearly full stands out", () => {
  assert.deepEqual(
    [toneOf(0, 0), toneOf(1, 0), toneOf(79, 100), toneOf(80, 100), toneOf(95, 100)],
    ["good", "bad", "good", "warn", "bad"],
  )
})

test("a certificate that is not renewed in time stands out", () => {
  const now = Date.parse("2026-01-01T00:00:00Z")

  assert.equal(expiryTone("2026-03-01T00:00:00Z", now), "good")
  assert.equal(expiryTone("2026-01-15T00:00:00Z", now), "warn")
  assert.equal(expiryTone("2026-01-03T00:00:00Z", now), "bad")
})
