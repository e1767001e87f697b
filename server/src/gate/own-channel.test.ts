/** The server's way to itself, with a real app in a real gate. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { startTestHttp } from "../testing/test-http.js"
import { migrations } from "../testing/test-server.js"
import { callOwnRoute } from "./own-channel.js"

const folder = fileURLToPath(new URL("../../../tests/guarded", import.meta.url))
const project = { folder, env: {}, auth: undefined, cache: undefined, disableStudioAuth: false, authFirst: false }

test("a call of the project's own routes reaches those of its app and none of the server's", async () => {
  await using db = await freshDatabase({ migrations })
  const mounted = { mount_prefix: "/agents" }
  for (const http of [{}, mounted]) {
    await using app = await startTestHttp(db, { http, gate: { ...project, app: "./src/app.ts:app" } })
    const call = (method: string, path: string, body?: string) =>
      callOwnRoute(app.channel, { method, path, ...(body !== undefined && { body }) })

    const threads = await call("POST", "/threads", "{}")

    assert.equal(threads.status, 404)
    assert.deepEqual(await db.rows(sql`select thread_id from threads`), [])
    assert.equal((await call("GET", "/info")).status, 404)
    // The app sees paths as the world does, with the prefix.
    if (http === mounted) continue
    assert.deepEqual(await (await call("POST", "/custom/hook", '{"a":1}')).json(), { ok: true })
    assert.deepEqual((await app.send("GET", "/custom/delivered")).json, { a: 1 })
  }
})

test("without an app there is no route of its own", async () => {
  await using db = await freshDatabase({ migrations })
  await using http = await startTestHttp(db)

  assert.equal((await callOwnRoute(http.channel, { method: "POST", path: "/threads", body: "{}" })).status, 404)
})

test("only the socket tells a request of the server's own, and a ticket ends with its reply", async () => {
  await using db = await freshDatabase({ migrations })
  const gate = { ...project, auth: "./src/auth.ts:auth", app: "./src/app.ts:app" }
  await using http = await startTestHttp(db, { gate })
  const pretending = { "x-superstep-only-app": "1", "x-superstep-ticket": "anything" }

  assert.equal((await http.send("POST", "/threads", {}, pretending)).status, 401)
  const late = await callOwnRoute(http.channel, {
    method: "POST",
    path: "/threads",
    headers: new Headers({ "x-superstep-ticket": "one that is over" }),
    body: "{}",
  })
  assert.equal(late.status, 403)
})
