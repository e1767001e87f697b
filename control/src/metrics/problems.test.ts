import assert from "node:assert/strict"
import { test } from "node:test"
import { whyCertificateDue, whyConnectionsShort, whyDiskFull, whyEdgesBehind } from "./problems.js"

const day = 86_400

test("a disk with less than 2 GB free, and connections that are almost all in use, are problems", () => {
  assert.equal(whyDiskFull(2 * 1024 ** 3), undefined)
  assert.equal(whyDiskFull(1.5 * 1024 ** 3), "only 1.5 GB free on its disk: free some space")

  assert.equal(whyConnectionsShort({ used: 94, most: 100 }), undefined)
  assert.match(whyConnectionsShort({ used: 95, most: 100 }) ?? "", /^95 of 100 database connections are in use/)
})

test("a certificate is a problem in the week before it expires, and after it", () => {
  const now = 1_800_000_000
  const words = [7 * day, 7 * day - 1, day, 0].map((left) => whyCertificateDue(now + left, now))

  assert.deepEqual(
    words.map((it) => /(expires in \d days?|has expired):/.exec(it ?? "")?.[1]),
    [undefined, "expires in 6 days", "expires in 1 day", "has expired"],
  )
  assert.equal(whyCertificateDue(undefined, now), undefined)
})

test("an edge is a problem when callers are sent to it and a newer table has waited for it for a minute", () => {
  const edge = (behindMs: number, isReady = true) => ({
    edge: "http://10.0.0.7:8903",
    isReady,
    generation: 7,
    behindMs,
  })

  assert.equal(whyEdgesBehind([]), undefined)
  assert.equal(whyEdgesBehind([edge(0), edge(59_999), edge(600_000, false)]), undefined)
  const problem = whyEdgesBehind([edge(0), edge(150_000), edge(600_000, false)]) ?? ""
  assert.match(problem, /^1 of 2 edges have used an old table for 2 min/)
  assert.ok(!problem.includes("10.0.0.7"))
  assert.match(whyEdgesBehind([edge(150_000, false)]) ?? "", /^1 of 1 edges/, "the only one does not answer")
})
