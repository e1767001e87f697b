import assert from "node:assert/strict"
import { test } from "node:test"
import { freshHttp } from "../testing/test-http.js"
import { occupyPool } from "../testing/test-server.js"

test("a unit passes its liveness check while its database is too busy for its status", async () => {
  await using http = await freshHttp({ unitToken: "sesame", revisionId: "r1" })
  const ask = (path: string) => http.send("GET", path, undefined, { "x-superstep-unit": "sesame" })
  const release = await occupyPool(http.server)

  let hasStatus = false
  const status = ask("/internal/status").then((reply) => {
    hasStatus = true
    return reply.status
  })
  const live = await ask("/internal/live")
  const hadStatus = hasStatus
  await release()

  assert.deepEqual([live.status, hadStatus, await status], [204, false, 200])
})
