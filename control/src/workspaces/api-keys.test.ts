import assert from "node:assert/strict"
import { BlockList } from "node:net"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { cookieOf, fromPage, origin } from "../console/testing/sign-in.js"
import { acceptLink, invitationOf } from "../people/testing/people.js"
import { exampleDeployment, startApi, type TestApi } from "../testing/api.js"
import { mostKeys } from "./operations.js"
import { keyHashes } from "./queries.js"

const make = async (api: TestApi, body: object = {}) => {
  const reply = await api.call("POST", "/v2/api-keys", { body: { name: "ci", ...body } })
  assert.equal(reply.status, 201, reply.text)
  return reply.body as { id: string; key: string; prefix: string }
}
const as = (key: string) => ({ headers: { "x-api-key": key } })

test("a key is shown once, works, records its use, and can be revoked (K6, K8)", async () => {
  await using api = await startApi()

  const { id, key, prefix } = await make(api, { scopes: ["deploy"] })
  const works = await api.call("GET", "/v2/deployments", as(key))
  const { body } = await api.call("GET", "/v2/api-keys")
  const revoked = await api.call("DELETE", `/v2/api-keys/${id}`)
  const after = await api.call("GET", "/v2/deployments", as(key))
  const again = await api.call("DELETE", `/v2/api-keys/${id}`)

  const listed = body.resources.find((it: { id: string }) => it.id === id)
  assert.deepEqual([works.status, revoked.status, after.status, again.status], [200, 204, 401, 404])
  assert.ok(key.startsWith(prefix) && prefix.length < 12 && listed.last_used_at)
  assert.deepEqual([listed.scopes, "key" in listed], [["deploy"], false])
  const kept = await api.db.rows(
    sql`select to_jsonb(e)::text as t from events e union all select to_jsonb(k)::text from api_keys k`,
  )
  assert.equal(JSON.stringify(kept).includes(key), false)
  const reported = await api.db.rows<{ type: string }>(sql`
    select type from events where data ->> 'api_key_id' = ${id} order by seq`)
  assert.deepEqual(fieldsOf(reported, "type"), ["key.created", "key.revoked"])
})

test("a workspace has at most so many keys in force: revoked and expired ones do not count (K10)", async () => {
  await using api = await startApi()
  const create = () => api.call("POST", "/v2/api-keys", { body: { name: "more" } })
  // With the one that the test calls with.
  await api.db.run(sql`
    insert into api_keys (api_key_id, workspace_id, name, prefix, sha256, scopes, expires_at, revoked_at)
    select gen_random_uuid(), ${api.workspaceId}, 'many', 'ssk_', 'hash ' || n, '{run}',
      case when n > ${mostKeys} then now() - interval '1 hour' end, case when n < 3 then now() end
    from generate_series(1, ${mostKeys} + 50) as n`)

  const both = await Promise.all([create(), create()])
  const [made, refused] = [201, 409].map((status) => both.find((it) => it.status === status))
  const ofOther = await api.callAsOther("POST", "/v2/api-keys", { body: { name: "more" } })
  await api.call("DELETE", `/v2/api-keys/${made?.body.id}`)
  const after = await create()

  assert.deepEqual([refused?.body.code, refused?.body.used], ["quota_exceeded", mostKeys])
  assert.deepEqual([ofOther.status, after.status], [201, 201])
})

test("a key says which person or key made it, by the present name; one of the command line says nobody", async () => {
  await using api = await startApi({ consoleOrigins: [origin] })
  const ann = await acceptLink(api, await invitationOf(api, "ann@example.com", "admin"), "Ann")
  const maker = await make(api, { name: "pipeline" })

  const { body: byKey } = await api.call("POST", "/v2/api-keys", { body: { name: "ci" }, ...as(maker.key) })
  const { body: byAnn } = await api.call("POST", "/v2/api-keys", fromPage(cookieOf(ann), { body: { name: "laptop" } }))

  const { body } = await api.call("GET", "/v2/api-keys")
  const made = new Map(
    body.resources.map((it: Record<string, unknown>) => [it.name, [it.created_by, it.created_by_name]]),
  )
  assert.deepEqual(made.get("ci"), [`api_key:${maker.id}`, "pipeline"])
  assert.deepEqual(made.get("laptop"), [`person:${ann.body.person.person_id}`, "Ann"])
  assert.deepEqual(made.get("test"), [null, null])
  assert.deepEqual([byKey.created_by_name, byAnn.created_by_name], ["pipeline", "Ann"])
})

test("an expired key is refused, also by agents, and an expiry in the past is 422 (K6); keys of others can be neither seen nor revoked (K4)", async () => {
  await using api = await startApi()
  const { id, key } = await make(api, { expires_at: new Date(Date.now() + 3_600_000).toISOString() })
  const before = await keyHashes(api.db, api.workspaceId)

  await api.db.run(sql`update api_keys set expires_at = now() - interval '1 second' where api_key_id = ${id}`)
  const late = await api.call("GET", "/v2/deployments", as(key))
  const past = await api.call("POST", "/v2/api-keys", { body: { name: "x", expires_at: "2001-01-01T00:00:00Z" } })

  assert.deepEqual([late.status, past.status], [401, 422])
  assert.equal((await keyHashes(api.db, api.workspaceId)).run.length, before.run.length - 1)

  const { id: own } = await make(api)
  const org = await api.db.row<{ api_key_id: string }>(sql`select api_key_id from api_keys where workspace_id is null`)

  const foreign = await api.callAsOther("DELETE", `/v2/api-keys/${own}`)
  const installation = await api.call("DELETE", `/v2/api-keys/${org?.api_key_id}`)
  const { body } = await api.callAsOther("GET", "/v2/api-keys")

  assert.deepEqual([foreign.status, installation.status], [404, 404])
  assert.equal(
    body.resources.some((it: { id: string }) => it.id === own),
    false,
  )
})

/** The result for each kind of key, by route: 403 `scope_missing` or anything else. */
test("every route requires its scope, at the root and below /api-host, also for HEAD (K5)", async () => {
  await using api = await startApi()
  const keys: Record<string, string> = {}
  for (const scope of ["read", "run", "deploy", "secrets", "admin"])
    keys[scope] = (await make(api, { scopes: [scope] })).key
  const { body: document } = await api.call("GET", "/openapi.json")
  const routes = Object.entries(document.paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
  )
  const needsOf = ({ method, path }: { method: string; path: string }) => {
    if (path.startsWith("/v2/console/sessions/")) return "read"
    if (/^\/v2\/(api-keys|audit-log|webhooks|console|invitations)/.test(path)) return "admin"
    if (method !== "GET" && path.startsWith("/v2/members/")) return "admin"
    if (path.endsWith("/code-changes")) return "deploy"
    if (method === "GET" || path.endsWith("_logs") || path.endsWith("/agent-token")) return "read"
    if (/\/secrets/.test(path)) return "secrets"
    return /^\/v[12]\/(integrations|listeners|quotas)/.test(path) ? "admin" : "deploy"
  }
  const refusal = async (key: string, method: string, path: string) => {
    const id = "00000000-0000-4000-8000-000000000000"
    const { status, text } = await api.call(method, path.replaceAll(/\{\w+\}/g, id), as(keys[key] ?? ""))
    return status === 403 && (method === "HEAD" || text.includes("scope_missing"))
  }

  for (const route of routes.filter(
    ({ path }) =>
      /^\/v[12]\//.test(path) &&
      !/^\/v1\/integrations\/.*\/webhook$|\/console\/(sessions?|sign-in|oidc|oidc\/callback|invitation)$/.test(path),
  )) {
    const needed = needsOf(route)
    for (const key of Object.keys(keys)) {
      const isRefused = !(needed === "read" || key === needed || key === "admin")
      for (const prefix of ["", "/api-host"]) {
        const said = await refusal(key, route.method, prefix + route.path)
        assert.equal(said, isRefused, `${key} asks ${route.method} ${prefix}${route.path}`)
      }
    }
  }
  assert.equal(await refusal("read", "HEAD", "/v2/api-keys"), true)
})

test("an address with many wrong keys gets 429; valid and missing keys do not (K7)", async () => {
  await using api = await startApi({ keyFailuresPerMinute: 3, trustedProxies: new BlockList() })

  const wrong = []
  for (let n = 0; n < 5; n++) wrong.push(await api.call("GET", "/v2/deployments", as(`ssk_wrong${n}`)))
  const right = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  const none = await api.call("GET", "/v2/deployments", as(""))

  assert.deepEqual(fieldsOf(wrong, "status"), [401, 401, 401, 429, 429])
  assert.ok(Number(wrong[4]?.headers.get("retry-after")) > 0)
  assert.equal(wrong[4]?.body.code, "too_many_requests")
  assert.deepEqual([right.status, none.status], [201, 401])
})
