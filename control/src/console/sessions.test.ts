import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { codesOf, exampleDeployment, startApi, type TestApi } from "../testing/api.js"
import { deleteEndedSessions } from "./queries.js"
import { cookieOf, fromPage, origin, signIn } from "./testing/sign-in.js"

const start = () => startApi({ consoleOrigins: [origin], keyFailuresPerMinute: 20 })
const withKey = (key: string) => ({ headers: { "x-api-key": key } })
const withCode = (api: TestApi, code: string, headers = {}) =>
  api.call("POST", "/v2/console/sessions", { body: { code }, headers: { "x-api-key": "", origin, ...headers } })
const newKey = async (api: TestApi, body: object) =>
  (await api.call("POST", "/v2/api-keys", { body: { name: "person", ...body } })).body as { id: string; key: string }

test("a session has exactly the rights of its key, and no other workspace (C1)", async () => {
  await using api = await start()
  const { key } = await newKey(api, { scopes: ["read"] })
  const reader = await signIn(api, key)
  const admin = await signIn(api, api.apiKey)
  const body = exampleDeployment()

  const refused = await api.call("POST", "/v2/deployments", fromPage(reader, { body }))
  const made = await api.call("POST", "/v2/deployments", fromPage(admin, { body }))
  const seen = await api.call("GET", `/v2/deployments/${made.body.id}`, fromPage(reader))
  const keys = await api.call("GET", "/api-host/v2/api-keys", fromPage(reader))
  const foreign = await api.call(
    "GET",
    "/v2/deployments",
    fromPage(admin, { headers: { "x-tenant-id": api.other.workspaceId } }),
  )

  assert.deepEqual([refused.status, refused.body.code], [403, "scope_missing"])
  assert.deepEqual([made.status, seen.status, keys.status, foreign.status], [201, 200, 403, 403])
})

test("a session says whose it is; that of an installation's key names a workspace with each request", async () => {
  await using api = await start()
  const own = await api.call("GET", "/v2/console/session", fromPage(await signIn(api, api.apiKey)))
  const operator = await signIn(api, api.orgKey)
  const org = await api.call("GET", "/v2/console/session", fromPage(operator))
  const tenant = { headers: { "x-tenant-id": api.other.workspaceId } }

  const vague = await api.call("GET", "/v2/deployments", fromPage(operator))
  const named = await api.call("GET", "/v2/deployments", fromPage(operator, tenant))

  const workspace = { workspace_id: api.workspaceId, name: "one", role: null, scopes: ["admin"], may_approve: true }
  assert.deepEqual([own.body.workspaces, own.body.person], [[workspace], null])
  assert.deepEqual([own.body.scopes, own.body.is_operator], [["admin"], false])
  assert.ok(api.apiKey.startsWith(own.body.key_prefix) && Date.parse(own.body.expires_at) > Date.now())
  assert.deepEqual([org.body.is_operator, org.body.workspaces.length], [true, 2])
  assert.deepEqual([vague.status, vague.body.code, named.status], [403, "workspace_required", 200])
})

test("a code works once, for ten minutes, stands for the key that made it, is behind the # of its address, and of browsers that send it at once one gets a session (C3)", async () => {
  await using api = await start()
  const codeOf = async () => (await api.call("POST", "/v2/console/codes")).body
  const made = await codeOf()
  const late = await codeOf()
  const late256 = sql`encode(sha256(convert_to(${late.code}, 'UTF8')), 'hex')`
  await api.db.run(sql`update console_codes set expires_at = now() where sha256 = ${late256}`)

  const first = await withCode(api, made.code)
  const again = await withCode(api, made.code)
  const tooLate = await withCode(api, late.code)
  const wrong = await withCode(api, `${made.code}x`)

  assert.equal(made.url, `${origin}/sign-in#code=${made.code}`)
  assert.equal(first.status, 201)
  assert.deepEqual(codesOf([again, tooLate, wrong]), Array(3).fill("401 code_invalid"))
  assert.equal((await api.call("GET", "/v2/deployments", fromPage(cookieOf(first)))).status, 200)

  const { body } = await api.call("POST", "/v2/console/codes")

  const replies = await Promise.all(Array.from({ length: 8 }, () => withCode(api, body.code)))

  assert.deepEqual(replies.map(({ status }) => status).sort(), [201, ...Array(7).fill(401)])
  const [{ count } = { count: 0 }] = await api.db.rows<{ count: number }>(sql`select count(*) from console_sessions`)
  assert.equal(Number(count), 2, "and the one of the first code")
  assert.deepEqual([new URL(body.url).search, new URL(body.url).hash], ["", `#code=${body.code}`])
})

test("only a key with the scope admin makes codes; a code of a revoked key is used up (C3)", async () => {
  await using api = await start()
  const deployer = await newKey(api, { scopes: ["deploy"] })
  const admin = await newKey(api, {})

  const refused = await api.call("POST", "/v2/console/codes", withKey(deployer.key))
  const { body } = await api.call("POST", "/v2/console/codes", withKey(admin.key))
  await api.call("DELETE", `/v2/api-keys/${admin.id}`)
  const late = await withCode(api, body.code)

  assert.deepEqual([refused.status, late.status, late.body.code], [403, 401, "code_invalid"])
  assert.equal((await api.db.rows(sql`select from console_codes`)).length, 0)
})

test("a session ends with its key, after 12 hours without use, after 7 days, and at sign-out (C1)", async () => {
  await using api = await start()
  const revoked = await newKey(api, {})
  const expired = await newKey(api, { expires_at: new Date(Date.now() + 3_600_000).toISOString() })
  const cookies = {
    revoked: await signIn(api, revoked.key),
    expired: await signIn(api, expired.key),
    idle: await signIn(api, api.apiKey),
    old: await signIn(api, api.apiKey),
    left: await signIn(api, api.apiKey),
  }
  const age = (cookie: string, change: ReturnType<typeof sql>) => {
    const id = cookie.replace("superstep_session=", "")
    const hash = sql`encode(sha256(convert_to(${id}, 'UTF8')), 'hex')`
    return api.db.run(sql`update console_sessions set ${change} where sha256 = ${hash}`)
  }
  const ask = () =>
    Promise.all(
      Object.values(cookies).map(async (it) => (await api.call("GET", "/v2/deployments", fromPage(it))).status),
    )
  const before = await ask()

  await api.call("DELETE", `/v2/api-keys/${revoked.id}`)
  await api.db.run(sql`update api_keys set expires_at = now() where api_key_id = ${expired.id}`)
  await age(cookies.idle, sql`last_used_at = now() - interval '12 hours'`)
  await age(cookies.old, sql`expires_at = now()`)
  const out = await api.call("DELETE", "/v2/console/session", fromPage(cookies.left))
  const after = await ask()
  const shown = await api.call("GET", "/v2/console/session", fromPage(cookies.revoked))
  await deleteEndedSessions(api.db)

  assert.deepEqual([before, after], [Array(5).fill(200), Array(5).fill(401)])
  assert.deepEqual([out.status, shown.status, shown.body.code], [204, 401, "unauthenticated"])
  assert.match(out.headers.get("set-cookie") ?? "", /^superstep_session=; .*Max-Age=0/)
  assert.deepEqual(await api.db.rows(sql`select from console_sessions`), [])
})

test("the use of a session is recorded, at most once a minute", async () => {
  await using api = await start()
  const cookie = await signIn(api, api.apiKey)
  const used = async () =>
    (await api.db.row<{ at: Date }>(sql`select last_used_at as at from console_sessions`))?.at.getTime() ?? 0
  await api.call("GET", "/v2/deployments", fromPage(cookie))
  const atOnce = await used()
  await api.db.run(sql`update console_sessions set last_used_at = now() - interval '11 hours'`)
  const old = await used()

  await api.call("GET", "/v2/deployments", fromPage(cookie))

  assert.ok(old < atOnce && (await used()) >= atOnce)
})

test("only hashes are stored, and the audit log has sign-in, code and sign-out", async () => {
  await using api = await start()
  const { body } = await api.call("POST", "/v2/console/codes")
  const stored = JSON.stringify(await api.db.rows(sql`select * from console_codes`))
  const cookie = cookieOf(await withCode(api, body.code))
  const sessions = JSON.stringify(await api.db.rows(sql`select * from console_sessions`))
  await api.call("DELETE", "/v2/console/session", fromPage(cookie))

  const { body: audit } = await api.call("GET", "/v2/audit-log")

  assert.equal(stored.includes(body.code) || sessions.includes(cookie.slice(18)), false)
  assert.deepEqual(fieldsOf(audit.resources, "action"), [
    "DELETE /v2/console/session",
    "POST /v2/console/sessions",
    "POST /v2/console/codes",
  ])
  assert.equal(JSON.stringify(audit).includes(body.code) || JSON.stringify(audit).includes(cookie.slice(18)), false)
})
