import assert from "node:assert/strict"
import { test } from "node:test"
import { pathBelow } from "./paths.js"

const seen = (prefix: string, path: string): string => pathBelow(prefix)(new Request(`http://localhost${path}`))
const isNowhere = (path: string): boolean => path.startsWith("/./")

test("routes see one form of a path, whatever its spelling", () => {
  assert.deepEqual(
    ["/threads", "/threads/", "/%74hreads", "/threads?x=/runs", "/x/../threads"].map((path) => seen("", path)),
    Array(5).fill("/threads"),
  )
  assert.equal(seen("", "/threads/a%2Fb"), "/threads/a%2Fb")
  assert.equal(seen("", "/"), "/")
})

test("routes are below the prefix, and only supervisors' paths are outside of it", () => {
  assert.equal(seen("/agents", "/agents/threads"), "/threads")
  assert.equal(seen("/agents", "/agents"), "/")
  assert.equal(seen("/agents", "/ok"), "/ok")
  assert.equal(seen("/agents", "/internal/status"), "/internal/status")
  for (const path of ["/threads", "/agentsthreads", "/agent/threads"]) assert.ok(isNowhere(seen("/agents", path)), path)
})

test("internal paths exist in one spelling only, because the edge blocks only that one", () => {
  for (const path of ["/agents/internal/activate", "/agents/%69nternal/activate", "/%61gents/internal/activate"]) {
    assert.ok(isNowhere(seen("/agents", path)), path)
  }
})
