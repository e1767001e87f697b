import assert from "node:assert/strict"
import { test } from "node:test"
import { pathBelow } from "./paths.js"

const seen = (prefix: string, path: string): string => pathBelow(prefix)(new Request(`http://localhost${path}`))
const isNowhere = (path: string): boolean => path.startsWith("/./")

test("however a path is spelt, the routes see one", () => {
  assert.deepEqual(
    ["/threads", "/threads/", "/%74hreads", "/threads?x=/runs", "/x/../threads"].map((path) => seen("", path)),
    Array(5).fill("/threads"),
  )
  assert.equal(seen("", "/threads/a%2Fb"), "/threads/a%2Fb")
  assert.equal(seen("", "/"), "/")
})

test("below a prefix are the routes, and beside it nothing but what supervisors ask for", () => {
  assert.equal(seen("/agents", "/agents/threads"), "/threads")
  assert.equal(seen("/agents", "/agents"), "/")
  assert.equal(seen("/agents", "/ok"), "/ok")
  assert.equal(seen("/agents", "/internal/status"), "/internal/status")
  for (const path of ["/threads", "/agentsthreads", "/agent/threads"]) assert.ok(isNowhere(seen("/agents", path)), path)
})

test("what only the control plane may ask for is not there in another spelling: the edge knows the plain one", () => {
  for (const path of ["/agents/internal/activate", "/agents/%69nternal/activate", "/%61gents/internal/activate"]) {
    assert.ok(isNowhere(seen("/agents", path)), path)
  }
})
