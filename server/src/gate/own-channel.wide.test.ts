/** The server's own socket, with a real app in a real gate. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { credentialHeader, signTicket, ticketHeader, userHeader } from "@superstep/protocol/http/own-headers"
import { fetchOverSocket } from "@superstep/protocol/http/socket-fetch"
import { sql } from "@superstep/toolkit/db/sql"
import { freshHttp, guardedProject } from "../testing/test-http.js"
import { callOwnRoute } from "./own-channel.js"

const withApp = { ...guardedProject, app: "./src/app.ts:app" }

test("a call of a route of the app reaches only the app's routes, none of the server's", async () => {
  await using app = await freshHttp({ http: { mount_prefix: "/agents" }, gate: withApp })
  const call = (method: string, path: string, body?: string) =>
    callOwnRoute(app.channel, { method, path, ...(body !== undefined && { body }) })

  const threads = await call("POST", "/threads", "{}")

  assert.equal(threads.status, 404)
  assert.deepEqual(await app.db.rows(sql`select thread_id from threads`), [])
  assert.equal((await call("GET", "/info")).status, 404)
  assert.deepEqual(await (await call("POST", "/custom/hook", '{"a":1}')).json(), { ok: true })
  assert.deepEqual((await app.send("GET", "/agents/custom/delivered")).json, { a: 1 })
})

test("with a mount prefix the app's routes and middleware are below it too, and the app sees paths without it", async () => {
  await using http = await freshHttp({ http: { mount_prefix: "/my/agents/" }, gate: withApp })
  const get = (path: string) => http.send("GET", path)

  // The app's own route, also when the prefix is spelled with escapes; and a route of the server behind its middleware.
  assert.deepEqual((await get("/my/agents/custom/hello")).json, { hello: "you" })
  assert.deepEqual((await get("/my/%61gents/custom/hello")).json, { hello: "you" })
  const info = await get("/my/agents/info")
  assert.deepEqual([info.status, info.headers.get("x-wrapped")], [200, "/info"])
  const root = await get("/my/agents?interrupt")
  assert.deepEqual(root.json, { status: "interrupted" })

  const outside = ["/custom/hello", "/info?interrupt", "/my/custom/hello", "/my/agentscustom/hello"]
  for (const path of outside) {
    const { status, headers } = await get(path)
    assert.deepEqual([path, status, headers.get("x-wrapped")], [path, 404, null])
  }
})

test("without an app no such route exists", async () => {
  await using http = await freshHttp()

  assert.equal((await callOwnRoute(http.channel, { method: "POST", path: "/threads", body: "{}" })).status, 404)
})

test("the server's own socket rejects callers without a credential, and its credentials are invalid elsewhere", async () => {
  await using http = await freshHttp({ gate: { ...withApp, auth: "./src/auth.ts:auth" } })
  const { loopback } = http.channel
  const atSocket = (own: Record<string, string>) => {
    const headers = new Headers({ "content-type": "application/json", ...own })
    const body = Buffer.from("{}")
    return fetchOverSocket({ socketPath: loopback.socket_path, method: "POST", path: "/threads", headers, body })
  }

  const refused = [
    await atSocket({}),
    await atSocket({ [credentialHeader]: "" }),
    await atSocket({ [credentialHeader]: "anything" }),
    await atSocket({ [credentialHeader]: `${loopback.credential}, ${loopback.credential}` }),
    await atSocket({ [ticketHeader]: "one that is over" }),
    // Only issued tickets are valid, even with a correct signature; and a ticket cannot be used as a credential.
    await atSocket({
      [ticketHeader]: signTicket("made up", loopback.credential),
      [credentialHeader]: loopback.credential,
    }),
  ]
  const atDoor = await http.send("POST", "/threads", {}, { [credentialHeader]: loopback.credential })

  for (const { status } of refused) assert.equal(status, 403)
  assert.equal(atDoor.status, 401)
  assert.deepEqual(await http.db.rows(sql`select thread_id from threads`), [])
  assert.equal((await atSocket({ [credentialHeader]: loopback.credential })).status, 200)
})

test("the app's own socket accepts only requests of the server", async () => {
  await using http = await freshHttp({ gate: withApp })
  const socketPath = await http.gate.withApp(async (path) => path, Promise.resolve())
  const atApp = async (own: Record<string, string>) => {
    const headers = new Headers({ [userHeader]: encodeURIComponent('{"identity":"ada"}'), ...own })
    return (await fetchOverSocket({ socketPath, method: "GET", path: "/custom/who", headers, body: null })).status
  }

  assert.equal(await atApp({}), 403)
  assert.equal(await atApp({ [ticketHeader]: "made up" }), 403)
  assert.equal(await atApp({ [ticketHeader]: signTicket("made up", "another credential") }), 403)
  assert.equal(await atApp({ [credentialHeader]: http.channel.loopback.credential }), 403)
})

test("user code can call every route except those for the control plane", async () => {
  await using http = await freshHttp({ unitToken: "sesame" })
  const { loopback } = http.channel
  const call = async (method: string, path: string) => {
    const headers = new Headers({ [credentialHeader]: loopback.credential })
    return (await fetchOverSocket({ socketPath: loopback.socket_path, method, path, headers, body: null })).status
  }

  assert.equal(await call("GET", "/info"), 200)
  assert.equal(await call("GET", "/internal/status"), 403)
  assert.equal(await call("GET", "/internal/runs"), 403)
  assert.equal(await call("POST", "/internal/activate"), 403)
  assert.equal((await http.send("GET", "/internal/status", undefined, { "x-superstep-unit": "sesame" })).status, 200)
})
