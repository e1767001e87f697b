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

test("HEAD of a stream is refused and subscribes nobody", async () => {
  await using db = await freshDatabase({ migrations })
  await using http = await startTestHttp(db)
  const created = await http.send("POST", "/threads", {})
  const { thread_id } = created.json as { thread_id: string }
  const run = await http.send("POST", `/threads/${thread_id}/runs`, { assistant_id: "agent", input: {} })
  const { run_id } = run.json as { run_id: string }

  const { status, headers } = await http.send("HEAD", `/threads/${thread_id}/runs/${run_id}/stream`)

  assert.deepEqual([status, headers.get("allow")], [405, "GET, POST"])
  assert.equal(http.server.streams.hasSubscribers(run_id), false)
})
