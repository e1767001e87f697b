/** A project's own access rules, through the official client: who may call, what each sees, and what a graph is told. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { startAgentServer } from "./testing/agent-servers.js"
import { ask, bearer } from "./testing/ask.js"

const config = fileURLToPath(new URL("../guarded/langgraph.json", import.meta.url))
const env = { SUPERSTEP_CONFIG: config, SUPERSTEP_WORKERS: "1" }

test("who calls is the auth module's decision", async (t) => {
  await using db = await freshDatabase()
  await using server = await startAgentServer({ databaseUri: db.uri, env })
  const search = (headers: Record<string, string>) =>
    ask(server, "/assistants/search", { method: "POST", body: "{}", headers })

  await t.test("an exception's status, text and headers come through, in our shape", async () => {
    const { status, headers, body } = await search({})

    assert.equal(status, 401)
    assert.equal(headers.get("www-authenticate"), 'Bearer realm="agents"')
    assert.match(headers.get("content-type") ?? "", /^application\/json/)
    assert.deepEqual([body.detail, body.code], ["Send a token.", "unauthenticated"])
    const revoked = await search(bearer("mallory"))
    assert.deepEqual([revoked.status, revoked.body.detail], [403, "This token was revoked."])
  })

  await t.test("what else a handler throws or returns is a 500 that tells nothing of it", async () => {
    for (const name of ["broken", "odd"]) {
      const { status, body } = await search(bearer(name))

      assert.equal(status, 500)
      assert.deepEqual(body.detail, "internal error")
    }
    assert.match(server.log(), /the identity provider at 10\.0\.0\.7 is down/)
    assert.match(server.log(), /authenticate returned a number/)
  })

  await t.test("probes and the reference are open, and nothing beside them", async () => {
    for (const path of ["/ok", "/info", "/openapi.json", "/%6Fk"])
      assert.equal((await ask(server, path)).status, 200, path)
    for (const path of ["/threads", "/ok/../threads", "/uiuiui", "/nothing"]) {
      assert.equal((await ask(server, path)).status, 401, path)
    }
  })

  await t.test("the Studio header is nothing special outside of development", async () => {
    assert.equal((await search({ "x-auth-scheme": "langsmith" })).status, 401)
  })
})
