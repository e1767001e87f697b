import assert from "node:assert/strict"
import { test } from "node:test"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { startTestHttp } from "./testing/test-http.js"
import { migrations } from "./testing/test-server.js"

test("a page of the web cannot execute a run on a development server", async () => {
  await using db = await freshDatabase({ migrations })
  await using http = await startTestHttp(db, { isDev: true })
  const send = (origin: string) =>
    http.send("POST", "/runs", { assistant_id: "none" }, { origin, "content-type": "text/plain" })

  const ofTheWeb = await send("https://evil.example")
  const local = await send("http://localhost:3000")

  assert.equal(ofTheWeb.status, 403)
  assert.equal(local.status, 404)
})
