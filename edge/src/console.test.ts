/** Pages of the console at the edge: they may call every route, and the code behind it gets nothing of their session. */
import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { signAgentToken } from "./agent-token.js"
import type { Route } from "./table.js"
import { edgeWithUnit, key, readKey, route } from "./testing/harness.js"

const consoleOrigin = "http://127.0.0.1:8900"
const preflight = {
  origin: consoleOrigin,
  "access-control-request-method": "POST",
  "access-control-request-headers": "content-type,x-api-key",
}
// A project that admits only its own page.
const cors: NonNullable<Route["cors"]> = {
  origins: ["https://app.example"],
  methods: ["GET"],
  headers: ["x-own"],
  exposed: [],
  credentials: true,
  max_age_seconds: 60,
}

// Browsers read all but the last two as the cookie of the console's session: names of cookies are case-sensitive.
const planted = [
  "superstep_session=planted; Path=/",
  "superstep_session =planted",
  "superstep_session\t=planted; Path=/",
  " \tsuperstep_session \t = planted",
  "=superstep_session=planted",
  "SUPERSTEP_SESSION=own",
  "own=1; superstep_session=attribute",
]

async function setUp(change: Partial<Route> = {}) {
  const seen: NodeJS.Dict<string | string[]>[] = []
  const setup = await edgeWithUnit((request, response) => {
    seen.push(request.headers)
    response.setHeader("set-cookie", planted)
    response.setHeader("access-control-allow-origin", "https://app.example")
    response.setHeader("access-control-allow-credentials", "true")
    response.writeHead(request.url === "/fails" ? 500 : 200).end("{}")
  })
  const units = change.state === undefined ? [setup.unit.unit] : []
  const chat = route("chat", units, { cors, token_key: "1".repeat(64), ...change })
  await setup.edge.take({ generation: 2, routes: [chat], console_origins: [consoleOrigin] })
  return { ...setup, seen }
}

function tokenOf(apiKey: string): string {
  const place = { deploymentId: "deployment-of-chat", tokenKey: "1".repeat(64) }
  const keySha256 = createHash("sha256").update(apiKey).digest("hex")
  return signAgentToken({ keySha256, expiresAt: Math.floor(Date.now() / 1000) + 60 }, place)
}

const rightsIn = ({ status, headers }: Response) => [
  status,
  headers.get("access-control-allow-origin"),
  headers.get("access-control-allow-credentials"),
]

test("preflights of the console are allowed at every route: awake, asleep, paused, or not there", async () => {
  for (const change of [{}, { state: "held" }, { state: "paused" }] as const) {
    await using setup = await setUp(change)
    const ask = (path: string) => fetch(`${setup.edge.url}${path}`, { method: "OPTIONS", headers: preflight })

    const replies = await Promise.all([ask("/d/chat/runs/stream"), ask("/d/nobody/threads")])

    for (const reply of replies) {
      assert.deepEqual(rightsIn(reply), [204, "*", null])
      assert.match(reply.headers.get("access-control-allow-headers") ?? "", /x-api-key/)
      assert.match(reply.headers.get("access-control-allow-methods") ?? "", /PATCH/)
    }
    assert.equal(setup.seen.length, 0)
  }
})

test("pages of the console read answers, failures and refusals; other pages get the project's own rules", async () => {
  await using setup = await setUp()
  const ask = (path: string, origin: string, apiKey = key) =>
    fetch(`${setup.edge.url}${path}`, { headers: { origin, "x-api-key": apiKey } })

  const own = await ask("/d/chat/threads", consoleOrigin)
  const failed = await ask("/d/chat/fails", consoleOrigin)
  const refused = await ask("/d/chat/threads", consoleOrigin, "wrong")
  const other = await ask("/d/chat/threads", "http://127.0.0.1:9999")

  assert.deepEqual([own, failed].map(rightsIn), [
    [200, consoleOrigin, null],
    [500, consoleOrigin, null],
  ])
  assert.deepEqual([own.headers.get("vary"), rightsIn(refused)], ["origin", [401, "*", null]])
  assert.deepEqual(rightsIn(other), [200, "https://app.example", "true"])
  assert.match(own.headers.get("access-control-expose-headers") ?? "", /content-location/)
})

test("the unit is told that the console asks: only for a token of a key that may run, never since a caller says so", async () => {
  await using setup = await setUp()
  const attack = { "X-Superstep-Console": "1", "X-Auth-Scheme": "langsmith" }
  const ask = (apiKey: string, headers: Record<string, string> = {}) =>
    fetch(`${setup.chat}/threads`, { headers: { "x-api-key": apiKey, ...headers } })

  await ask(tokenOf(key))
  for (const apiKey of [key, readKey, tokenOf(readKey)]) await ask(apiKey, attack)
  const valid = tokenOf(key)
  const refused = await ask(`${valid.slice(0, -3)}${valid.at(-3) === "A" ? "B" : "A"}${valid.slice(-2)}`, attack)

  assert.equal(refused.status, 401)
  const told = setup.seen.map((headers) => [headers["x-superstep-console"], headers["x-auth-scheme"]])
  assert.deepEqual(told, [["1", undefined], ...Array(3).fill([undefined, undefined])])
})

test("code of an agent gets neither the token nor the cookie of the console, and cannot set that cookie", async () => {
  await using setup = await setUp()
  const token = tokenOf(key)
  const ask = (cookie: string) =>
    fetch(`${setup.chat}/threads`, { headers: { "x-api-key": token, cookie, origin: consoleOrigin } })

  const reply = await ask("a=1; superstep_session=secret; b=2")
  await ask("superstep_session=secret")
  await ask("superstep_sessions=other; SUPERSTEP_SESSION=own")
  await ask("a=1; superstep_session =secret;\tsuperstep_session\t= secret")

  assert.deepEqual([reply.status, reply.headers.getSetCookie()], [200, planted.slice(-2)])
  const cookies = fieldsOf(setup.seen, "cookie")
  assert.deepEqual(cookies, ["a=1; b=2", undefined, "superstep_sessions=other; SUPERSTEP_SESSION=own", "a=1"])
  assert.equal(JSON.stringify(setup.seen).includes(token), false)
})
