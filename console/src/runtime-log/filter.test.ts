import assert from "node:assert/strict"
import { test } from "node:test"
import { addressOf, searchOf } from "./filter.js"

test("the filters of the page's address become those of the API", () => {
  const search = searchOf({ level: "ERROR", run: "r-1", revision: "v-1", from: "2026-01-31T08:00Z", q: 5 })

  const { path, query, curlPath } = addressOf("d-1", search)

  assert.equal(search.q, "5")
  assert.equal(path, "/v2/deployments/d-1/revisions/v-1/logs")
  assert.equal(query, "type=deploy&level=ERROR&run_id=r-1&query=5&hide_platform=true")
  assert.equal(
    curlPath,
    "/v2/deployment-logs?deployment_id=d-1&revision_id=v-1&page_size=100&sort_order=asc&start_time=2026-01-31T08%3A00%3A00.000Z&level=ERROR&run_id=r-1&query=5&hide_platform=true",
  )
})

test("a revision in the address stays one segment of the log's path", () => {
  const { path } = addressOf("d-1", searchOf({ revision: "../../x?" }))

  assert.equal(path, "/v2/deployments/d-1/revisions/..%2F..%2Fx%3F/logs")
})

test("an address that somebody changed by hand filters nothing that does not exist", () => {
  const search = searchOf({ level: "LOUD", from: "yesterday", run: { a: 1 } })

  assert.deepEqual(search, {
    level: undefined,
    revision: undefined,
    run: undefined,
    from: undefined,
    platform: undefined,
    q: "",
  })
  assert.equal(addressOf("d-1", search).query, "type=deploy&hide_platform=true")
  assert.equal(addressOf("d-1", searchOf({ platform: "shown" })).query, "type=deploy")
})
