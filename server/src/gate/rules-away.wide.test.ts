/** A project with rules is never served as if it had none (T2), whatever happens to the gate's process. */
import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp, guardedProject } from "../testing/test-http.js"

const bearer = (name: string) => ({ authorization: `Bearer ${name}-token` })

const project = {
  ...guardedProject,
  env: { LOADED_BEFORE: join(temporaryFolder(), "loaded") },
  auth: "./src/loads-once.ts:auth",
  app: "./src/app.ts:app",
  cache: { cache_keys: ["authorization"], ttl_seconds: 3600 },
}

test("a cached user gets no more access when the rules fail to load again", async () => {
  await using http = await freshHttp({ gate: project })
  const created = await http.send("POST", "/threads", {}, bearer("ada"))
  const path = `/threads/${(created.json as { thread_id: string }).thread_id}`
  assert.equal((await http.send("GET", path, undefined, bearer("bob"))).status, 404)

  await http.send("GET", "/custom/end")
  await until(() => http.gate.failures().length > 0, { what: "the module has failed to load again" })

  assert.equal((await http.send("GET", path, undefined, bearer("bob"))).status, 500)
  assert.equal((await http.send("DELETE", path, undefined, bearer("bob"))).status, 500)
  assert.deepEqual((await http.db.rows(sql`select thread_id from threads`)).length, 1)
})
