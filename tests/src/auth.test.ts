/** A project's own access rules, through the official client: who may call, what each sees, and what a graph is told. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { startAgentServer } from "./testing/agent-servers.js"
import { ask, bearer } from "./testing/ask.js"
import { makeGuarded } from "./testing/guarded-project.js"

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

  await t.test("a graph that burns the processor delays nobody's authentication", async () => {
    const reply = await ask(server, "/runs", {
      method: "POST",
      body: JSON.stringify({ assistant_id: "burn", input: { n: 1 } }),
      headers: bearer("ada"),
    })
    assert.equal(reply.status, 200)
    await until(() => server.log().includes("the graph burns"), { what: "the graph burns" })

    // The only worker of graphs is held for ever, and yet everybody is told who they are: that is another process.
    assert.equal((await search(bearer("ada"))).status, 200)
    assert.equal((await search({})).status, 401)
  })

  await t.test("the Studio header is nothing special outside of development", async () => {
    assert.equal((await search({ "x-auth-scheme": "langsmith" })).status, 401)
  })
})

test("in development the Studio header is a user, unless the project says no", async (t) => {
  await using db = await freshDatabase()
  const studio = { method: "POST", body: "{}", headers: { "x-auth-scheme": "langsmith" } }
  for (const [disabled, status] of [
    [false, 200],
    [true, 401],
  ] as const) {
    await t.test(`disable_studio_auth: ${disabled}`, async () => {
      const project = makeGuarded({ auth: { path: "./src/auth.ts:auth", disable_studio_auth: disabled } })
      const dev = { SUPERSTEP_CONFIG: project.config, SUPERSTEP_DEV: "1", SUPERSTEP_WORKERS: "1" }
      await using server = await startAgentServer({ databaseUri: db.uri, env: dev })

      assert.equal((await ask(server, "/assistants/search", studio)).status, status)
      assert.equal((await ask(server, "/assistants/search", { method: "POST", body: "{}" })).status, 401)
    })
  }
})

test("a module that does not load is never left out", async (t) => {
  await using db = await freshDatabase()
  const broken = { "src/auth.ts": "export const auth = undefined as never as string\nthrow new Error('no secret')\n" }

  await t.test("a server alone ends with the reason", async () => {
    const project = makeGuarded({}, broken)
    const started = startAgentServer({ databaseUri: db.uri, env: { SUPERSTEP_CONFIG: project.config } })

    await assert.rejects(started, /auth\.path: Error: no secret/)
    const python = makeGuarded({ auth: { path: "./src/auth.py:auth" } })
    const second = startAgentServer({ databaseUri: db.uri, env: { SUPERSTEP_CONFIG: python.config } })
    await assert.rejects(second, /auth\.py is Python, which is not supported here yet/)
  })

  await t.test("a unit tells its supervisor, and answers nobody else", async () => {
    const project = makeGuarded({}, broken)
    const env = { SUPERSTEP_CONFIG: project.config, SUPERSTEP_REVISION_ID: "r1", SUPERSTEP_WORKERS: "1" }
    await using server = await startAgentServer({ databaseUri: db.uri, env })

    const { body: status } = await ask(server, "/internal/status")
    assert.deepEqual([status.failed[0].graph_id, status.ready], ["auth.path", true])
    const { status: code, body } = await ask(server, "/assistants/search", { method: "POST", headers: bearer("ada") })
    assert.deepEqual([code, body.code], [500, "project_code_failed"])
    assert.equal((await ask(server, "/ok")).status, 200)
  })

  await t.test(
    "in development it is loaded again when it changes, and what cannot be loaded replaces nothing",
    async () => {
      const project = makeGuarded({}, broken)
      const env = {
        SUPERSTEP_CONFIG: project.config,
        SUPERSTEP_DEV: "1",
        SUPERSTEP_RELOAD: "1",
        SUPERSTEP_WORKERS: "1",
      }
      await using server = await startAgentServer({ databaseUri: db.uri, env })
      const search = () => ask(server, "/assistants/search", { method: "POST", body: "{}", headers: bearer("ada") })
      assert.equal((await search()).status, 500)

      project.write({ "src/auth.ts": project.original("src/auth.ts") })
      await until(async () => (await search()).status === 200, { what: "the module is loaded", timeoutMs: 60_000 })
      project.write(broken)
      const told = () => server.log().split("project code failed to load").length > 2
      await until(told, { what: "the broken module is told", timeoutMs: 60_000 })

      assert.equal((await search()).status, 200)
    },
  )
})
