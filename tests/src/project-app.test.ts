/** A project's own HTTP app in front of the server's routes (agent-server-api §13.1). */
import assert from "node:assert/strict"
import { text } from "node:stream/consumers"
import { describe, test } from "node:test"
import { Client } from "@langchain/langgraph-sdk"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { WebSocket } from "ws"
import { type AgentServerProcess, startServerWithDatabase } from "./testing/agent-servers.js"
import { ask, bearer } from "./testing/ask.js"
import { languages } from "./testing/guarded-languages.js"

const post = (server: AgentServerProcess, path: string, body: unknown, headers: Record<string, string> = {}) =>
  ask(server, path, { method: "POST", body: JSON.stringify(body), headers })

/** Sends a command on a WebSocket. @returns its reply, or the refusal of the handshake */
function askOnSocket({ url, headers }: AgentServerProcess, path: string): Promise<{ status: number; said: string }> {
  const ws = new WebSocket(`${url.replace("http", "ws")}${path}`, { headers })
  return new Promise((resolve, reject) => {
    ws.once("open", () => ws.send(JSON.stringify({ id: 1, method: "unknown", params: {} })))
    ws.once("message", (data) => {
      ws.terminate()
      resolve({ status: 101, said: String(data) })
    })
    ws.once("unexpected-response", (_, response) => {
      text(response).then((said) => resolve({ status: response.statusCode ?? 0, said }), reject)
    })
    ws.once("error", reject)
    ws.once("close", () => reject(new Error("the connection was closed without a reply")))
  })
}

const run = { assistant_id: "echo", input: { text: "hi" } }

for (const { name, skip, envOf } of languages) {
  describe(`in ${name}`, { skip }, () => {
    test("an app adds, shadows and wraps routes", async (t) => {
      await using server = await startServerWithDatabase({ env: envOf("app.json") })

      await t.test("its own routes answer, with their headers and errors", async () => {
        const hello = await ask(server, "/custom/hello", { headers: { "x-name": "Ada" } })
        const error = await ask(server, "/custom/error")

        assert.deepEqual([hello.status, hello.body], [200, { hello: "Ada" }])
        assert.equal(hello.headers.get("x-wrapped"), "/custom/hello")
        assert.match(hello.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/)
        assert.deepEqual([error.status, error.body], [418, "no coffee"])
        assert.equal((await ask(server, "/custom/bug")).status, 500)
        const long = await ask(server, "/custom/long-header")
        assert.equal(long.status, 503)
        assert.match(JSON.stringify(long.body), /the project's app answered with headers above 16 KB/)
      })

      await t.test("it stands before the server's routes", async () => {
        assert.deepEqual((await ask(server, "/runs/afakeroute")).body, { fake: true })
        assert.deepEqual((await ask(server, "/info?interrupt")).body, { status: "interrupted" })
        assert.equal((await ask(server, "/info")).headers.get("x-wrapped"), "/info")
      })

      await t.test("what it does not answer is the server's, also when that is a 404", async () => {
        const created = await post(server, "/threads", { metadata: { a: 1 } })
        const missing = await ask(server, "/custom/nothing")

        assert.deepEqual([created.status, created.body.metadata], [200, { a: 1 }])
        assert.equal(created.headers.get("x-read-first"), '{"metadata":{"a":1}}')
        assert.deepEqual([missing.status, missing.body.code], [404, "not_found"])
        assert.equal((await ask(server, `/threads/${created.body.thread_id}`)).status, 200)
      })

      await t.test("a middleware changes a run's body", async () => {
        const { body } = await post(server, "/runs/wait", run, { "x-say": "something else" })

        assert.equal(body.text, "You said: something else")
      })

      await t.test("a run's events pass as they come, and a client that leaves takes its run along", async () => {
        const { body: thread } = await post(server, "/threads", {})
        const leaving = new AbortController()
        const request = { assistant_id: "slow", stream_mode: "custom", on_disconnect: "cancel", input: { n: 0 } }
        const response = await fetch(`${server.url}/threads/${thread.thread_id}/runs/stream`, {
          method: "POST",
          headers: server.headers,
          body: JSON.stringify({ ...request, config: { configurable: { tick_ms: 3_600_000 } } }),
          signal: leaving.signal,
        })
        const reader = response.body?.getReader()
        const first = Buffer.from((await reader?.read())?.value ?? []).toString()

        assert.equal(response.headers.get("content-type"), "text/event-stream")
        assert.equal(response.headers.get("x-wrapped"), `/threads/${thread.thread_id}/runs/stream`)
        assert.match(first, /^event: metadata\n/)
        leaving.abort()
        const [, runId] = /"run_id":"([^"]+)"/.exec(first) ?? []
        const status = async () => (await ask(server, `/threads/${thread.thread_id}/runs/${runId}`)).body.status
        await until(async () => (await status()) === "interrupted", { what: "the run has been cancelled" })
      })

      await t.test("a thread's WebSocket passes its middleware", async () => {
        const { body: thread } = await post(server, "/threads", {})
        const path = `/threads/${thread.thread_id}/stream/events`

        const opened = await askOnSocket(server, path)
        const intercepted = await askOnSocket(server, `${path}?interrupt`)

        assert.equal(opened.status, 101)
        assert.equal(JSON.parse(opened.said).id, 1)
        assert.deepEqual([intercepted.status, JSON.parse(intercepted.said)], [200, { status: "interrupted" }])
      })

      await t.test("a WebSocket of its own is refused with the reason", { skip: name === "Python" }, async () => {
        const own = await askOnSocket(server, "/custom/socket")

        assert.deepEqual([own.status, JSON.parse(own.said).code], [501, "websocket_of_app"])
        assert.match(JSON.parse(own.said).detail, /an app in JavaScript cannot open a WebSocket/)
      })

      await t.test("its own streams pass as they come", async () => {
        const leaving = new AbortController()
        const response = await fetch(`${server.url}/custom/words`, { headers: server.headers, signal: leaving.signal })
        let text = ""
        for await (const chunk of response.body ?? []) {
          text += Buffer.from(chunk).toString()
          if (text.includes("two")) break
        }

        assert.equal(text, "one\ntwo\n")
        leaving.abort()
      })

      await t.test("the SDK without an address reaches the server itself, from the app and from a graph", async () => {
        assert.equal((await ask(server, "/custom/client")).body.text, "You said: myself")
        assert.deepEqual((await post(server, "/runs/wait", { assistant_id: "self", input: {} })).body, { found: 1 })
      })

      await t.test(
        "an ASGI app has a lifespan, and shadows only the methods that it has",
        {
          skip: name === "JavaScript",
        },
        async () => {
          assert.equal((await ask(server, "/custom/started")).body, "yes")
          assert.deepEqual((await ask(server, "/threads")).body, { threads: "mine" })
          const { status } = await ask(server, "/custom/hello", { method: "POST", body: "{}" })
          assert.equal(status, 404)
        },
      )

      await t.test("an app that ends comes back, and the server answers for itself meanwhile", async () => {
        const ended = await ask(server, "/custom/end")

        assert.equal(ended.status, 503)
        assert.notEqual(ended.headers.get("retry-after"), null)
        assert.equal((await ask(server, "/ok")).status, 200)
        await until(async () => (await ask(server, "/custom/hello")).status === 200, { what: "the app is back" })
      })
    })

    test("an app that cannot wrap routes answers first, and leaves its 404s to the server", {
      skip: unlessWide("starts a server"),
    }, async () => {
      await using server = await startServerWithDatabase({ env: envOf("fetch-only.json") })

      const echoed = await post(server, "/custom/echo", { a: 1 })
      const thread = await post(server, "/threads", { metadata: { a: 1 } })

      assert.deepEqual([echoed.status, echoed.headers.get("x-from"), echoed.body], [200, "fetch", '{"a":1}'])
      assert.deepEqual([thread.status, thread.body.metadata], [200, { a: 1 }])
    })

    test("middleware before authentication: custom routes are open, the server's are not", {
      skip: unlessWide("starts a server"),
    }, async () => {
      await using server = await startServerWithDatabase({ env: envOf("both.json") })

      assert.equal((await ask(server, "/custom/hello")).status, 200)
      const refused = await post(server, "/assistants/search", {})
      assert.deepEqual([refused.status, refused.headers.get("x-wrapped")], [401, "/assistants/search"])
      assert.equal((await post(server, "/assistants/search", {}, bearer("ada"))).status, 200)
      const spoofed = { "x-superstep-ticket": "0", "x-superstep-internal": "1" }
      assert.equal((await post(server, "/assistants/search", {}, spoofed)).status, 401)
      assert.equal((await ask(server, "/custom/client")).body.text, "You said: myself")
      // A DELETE with a body, through the app.
      const client = new Client({ apiUrl: server.url, defaultHeaders: { ...server.headers, ...bearer("ada") } })
      await client.store.putItem(["ada"], "note", { text: "hi" })
      await client.store.deleteItem(["ada"], "note")
      assert.equal(await client.store.getItem(["ada"], "note"), null)
    })

    test("authentication first: nothing reaches the app from somebody unknown", async () => {
      await using server = await startServerWithDatabase({ env: envOf("auth-first.json") })

      for (const path of ["/custom/hello", "/custom/nothing", "/threads"]) {
        assert.equal((await ask(server, path)).status, 401, path)
      }
      assert.equal((await ask(server, "/ok")).status, 200)
      const seen = await ask(server, "/custom/seen", { headers: bearer("ada") })
      assert.deepEqual(seen.body, { seen: 1 })
      assert.equal((await ask(server, "/custom/who", { headers: bearer("ada") })).body, "ada")
      const pretending = { ...bearer("ada"), "x-superstep-user": encodeURIComponent('{"identity":"bob"}') }
      assert.equal((await ask(server, "/custom/who", { headers: pretending })).body, "ada")
      assert.equal((await post(server, "/assistants/search", {}, bearer("ada"))).status, 200)
    })
  })
}
