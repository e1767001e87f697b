/** A real project with access rules and an app of its own: nothing that a stranger puts into or behind a request acts as one. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Client } from "@langchain/langgraph-sdk"
import { hostileRequests, sendRaw } from "@superstep/protocol/http/testing/hostile-requests"
import { startServerWithDatabase } from "./testing/agent-servers.js"
import { ask, bearer } from "./testing/ask.js"

const env = { SUPERSTEP_CONFIG: fileURLToPath(new URL("../guarded/both.json", import.meta.url)) }

test("a stranger's requests get no further than the access rules, whatever they hold", async (t) => {
  await using server = await startServerWithDatabase({ env })
  const port = Number(new URL(server.url).port)
  const fromEdge = Object.entries(server.headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `Host: localhost\r\n${fromEdge.join("")}`
  const created = await ask(server, "/threads", { method: "POST", body: "{}", headers: bearer("ada") })
  const { thread_id } = created.body
  // Five, since the first answer ends the connection, and with it what has come no further than the app.
  const hidden = `DELETE /threads/${thread_id} HTTP/1.1\r\n${head}\r\n`.repeat(5)
  const isThere = async () => (await ask(server, `/threads/${thread_id}`, { headers: bearer("ada") })).status === 200
  /** How many requests the app has seen, this one included. */
  const seen = async (): Promise<number> => (await ask(server, "/custom/seen")).body.seen

  const victim = { path: "/store/items", head: `${head}Connection: close\r\n`, hidden }
  for (const { name, method, body, bytes } of hostileRequests(victim)) {
    await t.test(name, async () => {
      const before = await seen()

      const reply = await sendRaw(port, bytes)

      const isRefused = body === undefined
      const answers = reply.replace("HTTP/1.1 100 Continue", "").match(/HTTP\/1\.1 \d+/g)
      assert.equal(answers?.length, 1, "one request has one answer")
      assert.match(answers[0] ?? "", isRefused ? / 400$/ : method === "OPTIONS" ? / 204$/ : / (401|404|405)$/)
      // CORS answers OPTIONS at the door; a body that turns out to be malformed is cut at the app.
      const most = method === "OPTIONS" ? 0 : 1
      const passed = (await seen()) - before - 1
      assert.ok(isRefused ? passed <= most : passed === most, `the app has seen ${passed} requests`)
      assert.ok(await isThere(), "the thread is still there")
    })
  }

  await t.test("pipelined", async () => {
    const last = `GET /ok HTTP/1.1\r\n${head}Connection: close\r\n\r\n`

    const reply = await sendRaw(
      port,
      `DELETE /store/items HTTP/1.1\r\n${head}Content-Length: 2\r\n\r\n{}${hidden}${last}`,
    )

    const statuses = reply.match(/(?<=HTTP\/1\.1 )\d+/g)
    assert.deepEqual(statuses, ["401", "401", "401", "401", "401", "401", "200"])
    assert.ok(await isThere())
  })

  await t.test("behind an upgrade that nobody makes", async () => {
    const upgrade = "Connection: Upgrade, close\r\nUpgrade: websocket\r\n"

    const reply = await sendRaw(port, `GET /ok HTTP/1.1\r\n${head}${upgrade}\r\n${hidden}`)

    assert.deepEqual(reply.match(/(?<=HTTP\/1\.1 )\d+/g), ["200"])
    assert.ok(await isThere())
  })

  await t.test("the official client deletes an item through the app", async () => {
    const defaultHeaders = { ...server.headers, ...bearer("ada") }
    const client = new Client({ apiUrl: server.url, defaultHeaders, callerOptions: { maxRetries: 0 } })
    await client.store.putItem(["ada"], "note", { text: "hi" })
    assert.deepEqual((await client.store.getItem(["ada"], "note"))?.value, { text: "hi" })

    await client.store.deleteItem(["ada"], "note")

    assert.equal(await client.store.getItem(["ada"], "note"), null)
  })
})
