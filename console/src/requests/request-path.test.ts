import assert from "node:assert/strict"
import { test } from "node:test"
import { areIds, requestPath } from "./request-path.js"

const id = "5f0c1f8e-7f3b-4a53-9d0a-0a8f4f1f2c3d"

test("an id of the address stays one segment of a request's path", () => {
  assert.equal(requestPath`/v2/deployments/${id}/agent-token`, `/v2/deployments/${id}/agent-token`)
  for (const hostile of [`${id}/pause?`, `${id}/pause#`, `../${id}`, "a\\b", "%2e%2e", "a\nb"]) {
    const { pathname, search, hash } = new URL(
      requestPath`/v2/deployments/${hostile}/agent-token`,
      "http://console.test",
    )

    assert.match(pathname, /^\/v2\/deployments\/[^/]+\/agent-token$/, hostile)
    assert.deepEqual([search, hash], ["", ""], hostile)
  }
})

test("a value that cannot be a segment is refused", () => {
  for (const value of ["", ".", ".."])
    assert.throws(() => requestPath`/v2/deployments/${value}/agent-token`, /is no id/)
})

test("a page opens only for parameters that are ids", () => {
  assert.ok(areIds({}))
  assert.ok(areIds({ deploymentId: id, threadId: id.toUpperCase() }))
  for (const hostile of [`${id}/pause?`, "..", "", `${id}\n`, `x${id}`])
    assert.equal(areIds({ deploymentId: id, threadId: hostile }), false, hostile)
})
