import assert from "node:assert/strict"
import { test } from "node:test"
import { ago } from "./ago.js"

test("a time is told by how long ago it was, and an old one by its date", () => {
  const now = Date.parse("2026-03-31T12:00:00Z")
  const told = [
    "2026-03-31T12:00:00Z",
    "2026-03-31T11:59:15Z",
    "2026-03-31T09:00:00Z",
    "2026-03-29T11:00:00Z",
    "2026-01-02T00:00:00Z",
  ]

  assert.deepEqual(
    told.map((time) => ago(time, now)),
    ["now", "45 s ago", "3 h ago", "2 d ago", "2026-01-02"],
  )
  assert.equal(ago("never", now), "")
})
