import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { scopeOf } from "../access/scopes.js"
import { exampleDeployment, startApi, type TestApi } from "../testing/api.js"
import { kindOf } from "./audit-entry.js"

// biome-ignore lint/suspicious/noExplicitAny: tests assert on what came, whatever its type
type Entries = any[]

const entries = async (api: TestApi, query = ""): Promise<Entries> =>
  (await api.call("GET", `/v2/audit-log${query}`)).body.resources
const verification = async (api: TestApi) => (await api.call("GET", "/v2/audit-log/verification")).body

const deployed = async (api: TestApi, name?: string): Promise<string> => (await api.deploy(name)).id

test("each write creates one entry with caller, action, resource and hashes (A1)", async () => {
  await using api = await startApi()

  const id = await deployed(api)
  const patch = { body: { display_name: "Shop" }, headers: { "x-request-id": "req-1" } }
  await api.call("PATCH", `/api-host/v2/deployments/${id}`, patch)
  await api.call("DELETE", `/v2/deployments/${id}`)
  const { body: made } = await api.call("POST", "/v2/api-keys", { body: { name: "ci" } })
  await api.call("DELETE", `/v2/api-keys/${made.id}`)

  const found = (await entries(api)).reverse()
  assert.deepEqual(fieldsOf(found, "seq", "action", "resource_type", "resource_id"), [
    [1, "POST /v2/deployments", "deployment", id],
    [2, "PATCH /v2/deployments/{deployment_id}", "deployment", id],
    [3, "DELETE /v2/deployments/{deployment_id}", "deployment", id],
    [4, "POST /v2/api-keys", "api_key", made.id],
    [5, "DELETE /v2/api-keys/{api_key_id}", "api_key", made.id],
  ])
  const [created, changed] = found
  assert.ok(created.before_hash === null && created.after_hash !== null && changed.before_hash !== changed.after_hash)
  assert.deepEqual([changed.request_id, changed.path], ["req-1", `/api-host/v2/deployments/${id}`])
  assert.ok(created.actor.startsWith("api_key:") && api.apiKey.startsWith(created.key_prefix))
  assert.equal(JSON.stringify(found).includes("sk-very-secret"), false)
  assert.equal(JSON.stringify(found).includes(made.key), false)
})

test("what is deleted is named, also when its row is gone: deployments, keys, webhooks, secrets (A1)", async () => {
  await using api = await startApi()
  const secrets = ["A", "B"].map((name) => ({ name, value: "sk-very-secret" }))
  const { body: shop } = await api.call("POST", "/v2/deployments", { body: { ...exampleDeployment("shop"), secrets } })
  const { body: key } = await api.call("POST", "/v2/api-keys", { body: { name: "ci" } })
  const hook = { url: "https://hooks.example.com/a", events: ["key.created"] }
  const { body: webhook } = await api.call("POST", "/v2/webhooks", { body: hook })
  const path = `/v2/deployments/${shop.id}`

  await api.call("DELETE", `${path}/secrets/A`)
  await api.call("DELETE", `${path}/secrets`)
  await api.call("DELETE", `/v2/api-keys/${key.id}`)
  await api.call("DELETE", `/v2/webhooks/${webhook.id}`)
  await api.call("DELETE", path)

  const deletions = (await entries(api)).reverse().filter(({ action }) => action.startsWith("DELETE"))
  assert.deepEqual(fieldsOf(deletions, "resource_type", "resource_id", "resource_name"), [
    ["deployment", shop.id, "shop"],
    ["deployment", shop.id, "shop"],
    ["api_key", key.id, "ci"],
    ["webhook", webhook.id, hook.url],
    ["deployment", shop.id, "shop"],
  ])
  const named = deletions.map(({ changed }) => changed?.filter((name: string) => name.startsWith("secrets.")))
  assert.deepEqual(named.slice(0, 2), [["secrets.A"], ["secrets.B"]])
  assert.equal(JSON.stringify(deletions).includes("sk-very-secret"), false)
})

test("every resource that the API changes has a kind that entries can name (A1)", async () => {
  await using api = await startApi()
  const { body: document } = await api.call("GET", "/openapi.json")

  const nameless = Object.entries<object>(document.paths).flatMap(([path, item]) =>
    Object.keys(item).flatMap((method) => {
      const isSigned = path.startsWith("/_uploads/") || /^\/v1\/integrations\/\w+\/webhook$/.test(path)
      const isWrite = scopeOf(method.toUpperCase(), path) !== "read" && method !== "get"
      return isWrite && !isSigned && !kindOf(path) ? [`${method} ${path}`] : []
    }),
  )

  assert.deepEqual(nameless, [])
})

test("refused, reading and repeated requests create no entry, and a bulk deletion one for each deployment that it may delete (A1)", async () => {
  await using api = await startApi()
  const withKey = { body: exampleDeployment(), headers: { "idempotency-key": "k" } }

  const first = await api.call("POST", "/v2/deployments", withKey)
  const repeated = await api.call("POST", "/v2/deployments", withKey)
  await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  await api.call("PATCH", `/v2/deployments/${first.body.id}`, { body: { source_config: { repo_url: "no" } } })
  await api.call("GET", `/v2/deployments/${first.body.id}`)
  await api.call("POST", `/v1/projects/${first.body.id}/deploy_logs`, { body: {} })

  assert.equal(repeated.headers.get("idempotent-replayed"), "true")
  assert.equal((await entries(api)).length, 1)

  const ids = [await deployed(api, "a"), await deployed(api, "b")]
  const foreign = (await api.callAsOther("POST", "/v2/deployments", { body: exampleDeployment() })).body.id

  const asked = [ids[0], foreign, ids[1]].join(",")
  const { status, body } = await api.call("DELETE", `/v2/deployments?deployment_ids=${asked}`)
  const refused = await api.call("DELETE", `/v2/deployments?deployment_ids=${foreign}`)

  assert.deepEqual([status, body.results.map((it: { status: number }) => it.status)], [207, [204, 404, 204]])
  assert.equal(refused.status, 207)
  const deletions = await entries(api, `?action=${encodeURIComponent("DELETE /v2/deployments")}`)
  assert.deepEqual(
    deletions.map((it) => [it.resource_id, it.before_hash !== it.after_hash]),
    [
      [ids[1], true],
      [ids[0], true],
    ],
  )
})

test("entries are filtered by actor, action, resource and time, paged, within their workspace", async () => {
  await using api = await startApi()
  const ids = [await deployed(api, "a"), await deployed(api, "b"), await deployed(api, "c")]
  await api.call("DELETE", `/v2/deployments/${ids[0]}`)

  const first = (await api.call("GET", "/v2/audit-log?limit=3")).body
  const rest = (await api.call("GET", `/v2/audit-log?limit=3&cursor=${first.next_cursor}`)).body
  const ofOne = await entries(api, `?resource_type=deployment&resource_id=${ids[0]}`)
  const deletions = await entries(api, `?action=${encodeURIComponent("DELETE /v2/deployments/{deployment_id}")}`)
  const later = await entries(api, "?since=2999-01-01T00:00:00Z")
  const foreign = (await api.callAsOther("GET", "/v2/audit-log")).body
  const malformed = await api.call("GET", "/v2/audit-log?since=yesterday&cursor=x")

  assert.deepEqual(
    [first, rest].map((page) => page.resources.map((it: { seq: number }) => it.seq)),
    [[4, 3, 2], [1]],
  )
  assert.deepEqual([rest.next_cursor, ofOne.length, deletions.length, later.length], [null, 2, 1, 0])
  assert.deepEqual([foreign.resources, malformed.status], [[], 422])
})

test("concurrent writes form one chain, a changed or removed entry breaks it, and the database allows neither (A2, A3)", async () => {
  await using api = await startApi()
  await Promise.all(Array.from({ length: 12 }, (_, n) => deployed(api, `shop-${n}`)))
  const whole = await verification(api)

  await assert.rejects(api.db.run(sql`update audit_log set actor = 'nobody'`), /only added to/)
  await assert.rejects(api.db.run(sql`delete from audit_log`), /only added to/)
  await api.db.run(sql`alter table audit_log disable trigger audit_is_only_added_to`)
  await api.db.run(sql`update audit_log set ip = '203.0.113.9' where seq = 3`)
  const changed = await verification(api)
  await api.db.run(sql`update audit_log set ip = null, actor_name = 'bob' where seq = 3`)
  const renamed = await verification(api)
  await api.db.run(sql`update audit_log set actor_name = null where seq = 3`)
  const mended = await verification(api)
  await api.db.run(sql`delete from audit_log where seq = 2`)
  const removed = await verification(api)

  assert.deepEqual([whole.valid, whole.entries, whole.broken_seq], [true, 12, null])
  assert.deepEqual([changed.valid, changed.broken_seq, renamed.broken_seq], [false, 3, 3])
  assert.deepEqual(mended, whole)
  assert.deepEqual([removed.valid, removed.broken_seq], [false, 3])
})
