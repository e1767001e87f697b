/** What pages of other origins and holders of half a right try at the console's sessions. */

import assert from "node:assert/strict"
import { BlockList } from "node:net"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { listen } from "@superstep/toolkit/http/listen"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { codesOf, exampleDeployment, headersOf, startApi } from "../testing/api.js"
import { cookieOf, fromPage, origin, signIn } from "./testing/sign-in.js"

const consoleOrigins = [origin, "https://console.example.com"]
const start = (options = {}) => startApi({ consoleOrigins, ...options })

test("a page of another origin changes nothing: a foreign, opaque or missing Origin is 403 (C5)", async () => {
  await using api = await start()
  const cookie = await signIn(api, api.apiKey)
  const origins = [
    "https://evil.example",
    "http://localhost:8901",
    "null",
    "",
    "http://localhost.evil.example",
    undefined,
  ]

  const replies = []
  for (const from of origins) {
    const { headers, ...call } = fromPage(cookie, { body: exampleDeployment() })
    const { origin: _, ...others } = headers ?? {}
    const sent = from === undefined ? others : { ...others, origin: from }
    for (const [method, path] of [
      ["POST", "/v2/deployments"],
      ["POST", "/api-host/v2/deployments"],
      ["DELETE", "/v2/console/session"],
    ] as const) {
      replies.push(await api.call(method, path, { ...call, headers: sent }))
    }
  }
  const own = await api.call("POST", "/v2/deployments", fromPage(cookie, { body: exampleDeployment() }))

  assert.deepEqual(new Set(codesOf(replies)), new Set(["403 cross_site"]))
  assert.equal(own.status, 201)
  assert.equal((await api.db.rows(sql`select from deployments`)).length, 1)
})

test("a page on another port of the same host reads nothing: browsers send it the cookie's requests as same-site (C5)", async () => {
  await using api = await start()
  const cookie = await signIn(api, api.apiKey)
  const ask = (headers: Record<string, string>) =>
    api.call("GET", "/v2/deployments", { headers: { "x-api-key": "", cookie, ...headers } })

  const refused = [
    await ask({ "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" }),
    await ask({ "sec-fetch-site": "cross-site" }),
    await ask({ origin: "http://localhost:8901" }),
    await ask({ origin: "null" }),
  ]
  const answered = [
    await ask({ "sec-fetch-site": "same-origin" }),
    await ask({ "sec-fetch-site": "none" }),
    await ask({}),
  ]

  assert.deepEqual(codesOf(refused), Array(4).fill("403 cross_site"))
  assert.deepEqual(fieldsOf(answered, "status"), [200, 200, 200])
  assert.ok(answered.every(({ headers }) => headers.get("access-control-allow-origin") === null))
})

test("a name that was made to resolve here is refused with the session, also for reads (DNS rebinding, C5)", async () => {
  await using api = await start()
  const cookie = await signIn(api, api.apiKey)
  const ask = (host: string, path = "/v2/deployments") =>
    api.call("GET", path, { headers: { "x-api-key": "", cookie, host } })

  const foreign = [await ask("evil.example"), await ask("evil.example:8900"), await ask("localhost:8901")]
  const session = await ask("evil.example", "/v2/console/session")
  const own = [await ask("localhost"), await ask("console.example.com"), await ask("CONSOLE.example.com")]

  assert.deepEqual(codesOf([...foreign, session]), Array(4).fill("403 foreign_host"))
  assert.deepEqual(fieldsOf(own, "status"), [200, 200, 200])
})

test("of several forwarded hosts the trusted proxy's own counts, which is the last; of a stranger none does (C5)", async () => {
  const trustedProxies = new BlockList()
  trustedProxies.addAddress("127.0.0.1")
  await using api = await start({ trustedProxies })
  const cookie = await signIn(api, api.apiKey)
  const values = ["console.example.com", "evil.example, console.example.com", "console.example.com, evil.example"]
  const statusesFor = (remoteAddress: string) =>
    Promise.all(
      values.map(async (it) => {
        const headers = { cookie, "x-forwarded-host": it }
        const request = new Request("http://10.0.0.2:8900/v2/deployments", { headers })
        return (await api.fetch(request, { incoming: { socket: { remoteAddress } } })).status
      }),
    )

  const [proxied, direct] = [await statusesFor("127.0.0.1"), await statusesFor("192.0.2.1")]

  assert.deepEqual([proxied, direct], [[200, 200, 403], Array(3).fill(403)])
})

test("a sign-in from a foreign page is refused, so nobody is signed in to an attacker's workspace (C2)", async () => {
  await using api = await start()
  const { body } = await api.call("POST", "/v2/console/codes")
  const from = (origin: string) =>
    api.call("POST", "/v2/console/sessions", {
      text: JSON.stringify({ code: body.code }),
      headers: { "x-api-key": "", origin, "content-type": "text/plain" },
    })

  const refused = [await from("https://evil.example"), await from("null")]
  const own = await from(origin)

  assert.deepEqual(codesOf(refused), ["403 cross_site", "403 cross_site"])
  assert.ok(refused.every(({ headers }) => headers.get("set-cookie") === null))
  assert.equal(own.status, 201)
})

test("each sign-in gets an id of its own, and ends the session that the browser had (session fixation, C2)", async () => {
  await using api = await start()
  const planted = "superstep_session=chosen-by-an-attacker-000000000000000000000000"
  const signInWith = (cookie: string) =>
    api.call("POST", "/v2/console/sessions", { body: { api_key: api.apiKey }, ...fromPage(cookie) })

  const first = cookieOf(await signInWith(planted))
  const second = cookieOf(await signInWith(first))
  const ask = async (cookie: string) => (await api.call("GET", "/v2/deployments", fromPage(cookie))).status

  assert.equal(new Set([planted, first, second]).size, 3)
  assert.deepEqual([await ask(planted), await ask(first), await ask(second)], [401, 401, 200])
})

test("a sign-in that cannot end the browser's former session changes nothing (C2)", async () => {
  await using api = await start()
  const former = await signIn(api, api.apiKey)
  const { body } = await api.call("POST", "/v2/console/codes")
  const signInWithCode = () => api.call("POST", "/v2/console/sessions", fromPage(former, { body: { code: body.code } }))
  await api.db.run(sql`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'not now'; end $$`)
  await api.db.run(sql`
    create trigger refuse before delete on console_sessions for each row execute function refuse()`)

  const failed = await signInWithCode()
  const sessions = await api.db.rows(sql`select from console_sessions`)
  await api.db.run(sql`drop trigger refuse on console_sessions`)
  const again = await signInWithCode()

  assert.deepEqual([failed.status, failed.headers.get("set-cookie"), sessions.length], [500, null, 1])
  assert.equal(again.status, 201)
  assert.equal((await api.call("GET", "/v2/deployments", fromPage(former))).status, 401)
})

test("a second cookie of the name, as a page of an agent can set it, signs nobody in (C4)", async () => {
  await using api = await start()
  const mine = await signIn(api, api.apiKey)
  const planted = await signIn(api, api.other.apiKey)

  const { status, body } = await api.call("GET", "/v2/deployments", fromPage(`${planted}; ${mine}`))
  const out = await api.call("DELETE", "/v2/console/session", fromPage(`${planted}; ${mine}`))

  assert.deepEqual([status, body.code, out.status], [401, "unauthenticated", 204])
  assert.equal((await api.call("GET", "/v2/deployments", fromPage(mine))).status, 401)
})

test("wrong codes and wrong keys of an address are counted together (K7)", async () => {
  await using api = await start({ keyFailuresPerMinute: 3, trustedProxies: new BlockList() })
  const guess = (body: object) =>
    api.call("POST", "/v2/console/sessions", { body, headers: { "x-api-key": "", origin } })
  const { body: made } = await api.call("POST", "/v2/console/codes")

  const wrong = [
    await guess({ code: "a" }),
    await guess({ api_key: "ssk_b" }),
    await api.call("GET", "/v2/deployments", { headers: { "x-api-key": "ssk_c" } }),
    await guess({ code: "d" }),
  ]
  const right = await guess({ code: made.code })

  assert.deepEqual(fieldsOf([...wrong, right], "status"), [401, 401, 401, 429, 201])
})

test("the cookie is HttpOnly and SameSite=Strict, and Secure when the browser uses HTTPS (C4)", async () => {
  const trustedProxies = new BlockList()
  trustedProxies.addAddress("127.0.0.1")
  await using trusting = await start({ trustedProxies })
  await using distrusting = await start()
  const servers = [
    await listen(trusting.fetch as never, { host: "127.0.0.1", port: 0 }),
    await listen(distrusting.fetch as never, { host: "127.0.0.1", port: 0 }),
  ]
  const ports = servers.map(({ port }) => port)
  const cookieFrom = async (port: number | undefined, apiKey: string, headers: Record<string, string>) => {
    const reply = await fetch(`http://127.0.0.1:${port}/v2/console/sessions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ api_key: apiKey }),
    })
    return reply.headers.get("set-cookie")?.replace(/^superstep_session=[\w-]{43}; /, "")
  }

  const cookies = [
    await cookieFrom(ports[0], trusting.apiKey, {}),
    await cookieFrom(ports[0], trusting.apiKey, { "x-forwarded-proto": "https" }),
    await cookieFrom(ports[1], distrusting.apiKey, { "x-forwarded-proto": "https" }),
    await cookieFrom(ports[1], distrusting.apiKey, { origin: "https://console.example.com" }),
  ]
  await Promise.all(servers.map((server) => server.close(0)))

  const plain = "Path=/; HttpOnly; SameSite=Strict"
  assert.deepEqual(cookies, [plain, `${plain}; Secure`, plain, `${plain}; Secure`])
})

test("texts of strangers are served as JSON that no browser takes for a page", async () => {
  await using api = await start()
  const cookie = await signIn(api, api.apiKey)
  const html = "<img src=x onerror=alert(1)><script>alert(2)</script>"
  await api.call("POST", "/v2/api-keys", fromPage(cookie, { body: { name: html } }))

  const reply = await api.call("GET", "/v2/api-keys", fromPage(cookie, { headers: { accept: "text/html" } }))

  assert.ok(reply.text.includes("alert(1)"))
  assert.deepEqual(
    headersOf(reply, "content-type", "x-content-type-options", "cross-origin-resource-policy", "cache-control"),
    ["application/json", "nosniff", "same-origin", "no-store"],
  )
})
