import assert from "node:assert/strict"
import { test } from "node:test"
import { createLog } from "@superstep/toolkit/log/log"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { Hono } from "hono"
import { headerChoice } from "./chosen-headers.js"
import { logRequests } from "./request-log.js"

/** The lines that requests write to a log of this level. */
async function linesOf(level: "debug" | "info", includes: string[] | undefined) {
  const lines: Record<string, unknown>[] = []
  const log = createLog({ process: "test", level }, { write: (line) => lines.push(JSON.parse(line)) })
  const app = new Hono()
  const middleware = logRequests(log, includes && headerChoice({ includes }))
  if (middleware) app.use(middleware)
  app.get("/a", (c) => c.text("a"))
  await app.request("/a", { headers: { "x-user-id": "u1", "x-other": "o" } })
  await app.request("/b")
  return lines
}

test("the log includes the headers that a project selects, with the request and the status", async () => {
  const lines = await linesOf("info", ["x-user-*"])

  assert.deepEqual(fieldsOf(lines, "level", "method", "path", "status", "headers"), [
    ["info", "GET", "/a", 200, { "x-user-id": "u1" }],
    ["info", "GET", "/b", 404, {}],
  ])
})

test("without selected headers requests are logged only at level debug", async () => {
  assert.deepEqual(await linesOf("info", undefined), [])
  assert.equal((await linesOf("debug", undefined)).length, 2)
})
