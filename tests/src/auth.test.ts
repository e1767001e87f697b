/** A project's own access rules, through the official client: who may call, what each sees, and what a graph is told. */
import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { Client } from "@langchain/langgraph-sdk"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { agentDatabase, serverForAll, startAgentServer } from "./testing/agent-servers.js"
import { ask, bearer } from "./testing/ask.js"
import { languages } from "./testing/guarded-languages.js"
import { makeGuarded } from "./testing/guarded-project.js"

for (const { name, skip, folder, ending, envOf } of languages) {
  describe(`in ${name}`, { skip }, () => {
    const env = envOf("langgraph.json")
    const auth = `src/auth.${ending}`
    const server = serverForAll({ env })

    test("two users see what is their own", async (t) => {
      const as = (name: string) =>
        new Client({
          apiUrl: server.url,
          defaultHeaders: { ...server.headers, ...bearer(name) },
          callerOptions: { maxRetries: 0 },
        })
      const [ada, bob] = [as("ada"), as("bob")]
      const create = (metadata: object) =>
        ask(server, "/threads", { method: "POST", body: JSON.stringify({ metadata }), headers: bearer("ada") })

      await t.test("a handler's changes are stored, and its filter decides who finds the thread", async () => {
        const mine = await ada.threads.create({ metadata: { topic: "tea", owner: "somebody else" } })

        assert.deepEqual(mine.metadata, { topic: "tea", owner: "ada", may: ["agents"] })
        assert.equal((await ada.threads.get(mine.thread_id)).thread_id, mine.thread_id)
        await assert.rejects(bob.threads.get(mine.thread_id), /HTTP 404.*not found/)
        const found = async (client: Client) => (await client.threads.search()).map(({ thread_id }) => thread_id)
        assert.deepEqual([await found(ada), await found(bob)], [[mine.thread_id], []])
        assert.deepEqual([await ada.threads.count(), await bob.threads.count()], [1, 0])
        await assert.rejects(bob.threads.create({ threadId: mine.thread_id, ifExists: "do_nothing" }), /HTTP 409/)
        const changed = await ada.threads.update(mine.thread_id, { metadata: { owner: "bob", topic: "coffee" } })
        assert.deepEqual([changed.metadata?.owner, changed.metadata?.topic], ["ada", "coffee"])
      })

      await t.test("what a handler refuses has its status, its text and its headers", async () => {
        const refused = await create({ forbidden: true })
        assert.deepEqual([refused.status, refused.body.detail, refused.body.code], [403, "Forbidden", "forbidden"])
        const politely = await create({ forbidden: "politely" })
        assert.deepEqual([politely.status, politely.body.detail], [402, "Pay first."])
        assert.equal(politely.headers.get("x-price"), "1")
        assert.equal(await ada.threads.count(), 1)
      })

      await t.test("a run carries its owner, and its graph is told who asks", async () => {
        const { thread_id } = await ada.threads.create()
        const run = await ada.runs.create(thread_id, "echo", { input: { text: "hi" }, metadata: { owner: "bob" } })
        const values = (await ada.runs.join(thread_id, run.run_id)) as { text: string; user: Record<string, unknown> }

        assert.equal(run.metadata?.owner, "ada")
        assert.equal(values.text, "You said: hi")
        const user = {
          identity: "ada",
          display_name: "ADA",
          is_authenticated: true,
          permissions: ["agents"],
          team: { id: 7 },
        }
        assert.deepEqual(values.user, { user, id: "ada", permissions: ["agents"] })
        await assert.rejects(bob.runs.create(thread_id, "echo", { input: { text: "hi" } }), /HTTP 404/)
        await assert.rejects(bob.runs.get(thread_id, run.run_id), /HTTP 404/)
      })

      await t.test("an Idempotency-Key is the caller's own", async () => {
        const body = JSON.stringify({ metadata: {} })
        const create = async (name: string) => {
          const headers = { ...bearer(name), "idempotency-key": "one" }
          return (await ask(server, "/threads", { method: "POST", body, headers })).body.thread_id
        }
        const [first, other, again] = [await create("ada"), await create("bob"), await create("ada")]

        assert.deepEqual([first === other, first === again], [false, true])
      })

      await t.test("a user without a filter sees everything", async () => {
        assert.equal(await as("plain").threads.count(), 4)
      })

      await t.test("the store asks the rules about the namespace", async () => {
        await ada.store.putItem(["ada", "notes"], "a", { text: "mine" })

        assert.deepEqual((await ada.store.getItem(["ada", "notes"], "a"))?.value, { text: "mine" })
        for (const attempt of [
          () => bob.store.getItem(["ada", "notes"], "a"),
          () => bob.store.putItem(["ada", "notes"], "a", { text: "stolen" }),
          () => bob.store.deleteItem(["ada", "notes"], "a"),
          () => bob.store.searchItems(["ada"]),
          () => bob.store.searchItems([]),
        ]) {
          await assert.rejects(attempt(), /HTTP 403.*That is not your namespace\./)
        }
        assert.deepEqual((await ada.store.getItem(["ada", "notes"], "a"))?.value, { text: "mine" })
      })
    })

    test("who calls is the auth module's decision", async (t) => {
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

      // The last one with this server: its only worker of graphs is held from here on.
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

      // The graph would burn while the tests below run.
      await server[Symbol.asyncDispose]()
    })

    test("a module that does not load is never left out", async (t) => {
      await using db = await agentDatabase()
      const texts = {
        ts: "export const auth = undefined as never as string\nthrow new Error('no secret')\n",
        py: "auth = None\nraise RuntimeError('no secret')\n",
      }
      const broken = { [auth]: texts[ending] }

      await t.test("a server alone ends with the reason", { skip: unlessWide("starts another server") }, async () => {
        const project = makeGuarded(folder, {}, broken)
        const started = startAgentServer({ databaseUri: db.uri, env: { ...env, SUPERSTEP_CONFIG: project.config } })

        await assert.rejects(started, /auth\.path: (Runtime)?Error: no secret/)
      })

      await t.test("a unit tells its supervisor, and answers nobody else", async () => {
        const project = makeGuarded(folder, {}, broken)
        const unit = { ...env, SUPERSTEP_CONFIG: project.config, SUPERSTEP_REVISION_ID: "r1" }
        await using server = await startAgentServer({ databaseUri: db.uri, env: unit })

        const { body: status } = await ask(server, "/internal/status")
        assert.deepEqual([status.failed[0].graph_id, status.ready], ["auth.path", true])
        const { status: code, body } = await ask(server, "/assistants/search", {
          method: "POST",
          headers: bearer("ada"),
        })
        assert.deepEqual([code, body.code], [500, "project_code_failed"])
        assert.equal((await ask(server, "/ok")).status, 200)
      })

      await t.test(
        "in development it is loaded again when it changes, and what cannot be loaded replaces nothing",
        { skip: unlessWide("starts a server in development") },
        async () => {
          const project = makeGuarded(folder, {}, broken)
          const reloading = { ...env, SUPERSTEP_CONFIG: project.config, SUPERSTEP_DEV: "1", SUPERSTEP_RELOAD: "1" }
          await using server = await startAgentServer({ databaseUri: db.uri, env: reloading })
          const search = () => ask(server, "/assistants/search", { method: "POST", body: "{}", headers: bearer("ada") })
          assert.equal((await search()).status, 500)

          project.write({ [auth]: project.original(auth) })
          await until(async () => (await search()).status === 200, { what: "the module is loaded", timeoutMs: 60_000 })
          project.write(broken)
          const told = () => server.log().split("project code failed to load").length > 2
          await until(told, { what: "the broken module is told", timeoutMs: 60_000 })

          assert.equal((await search()).status, 200)
        },
      )
    })
  })
}
