import assert from "node:assert/strict"
import { test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp } from "../testing/test-http.js"
import { testPoolSize } from "../testing/test-server.js"

test("a unit passes its liveness check while its database is too busy for its status", async () => {
  await using http = await freshHttp({ unitToken: "sesame", revisionId: "r1" })
  const ask = (path: string) => http.send("GET", path, undefined, { "x-superstep-unit": "sesame" })
  let finish: () => void = () => undefined
  const isFinished = new Promise<void>((resolve) => {
    finish = resolve
  })
  let held = 0
  const statements = Array.from({ length: testPoolSize }, () =>
    http.server.db.transaction(async () => {
      held++
      await isFinished
    }),
  )
  await until(() => held === testPoolSize, { what: "all connections are taken" })

  let hasStatus = false
  const status = ask("/internal/status").then((reply) => {
    hasStatus = true
    return reply.status
  })
  const live = await ask("/internal/live")
  const hadStatus = hasStatus
  finish()
  await Promise.all(statements)

  assert.deepEqual([live.status, hadStatus, await status], [204, false, 200])
})
