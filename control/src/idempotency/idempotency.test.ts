import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { exampleDeployment, type Reply, startApi } from "../testing/api.js"

const withKey = (key: string, body: unknown) => ({ body, headers: { "idempotency-key": key } })

test("a repeated request gets the first one's reply and changes nothing; a key that was used for another request is 422", async () => {
  await using api = await startApi()

  const first = await api.call("POST", "/v2/deployments", withKey("k1", exampleDeployment()))
  const again = await api.call("POST", "/api-host/v2/deployments", withKey("k1", exampleDeployment()))
  const path = `/v2/deployments/${first.body.id}`
  const patch = { source_revision_config: { repo_ref: "next" } }
  const patched = await api.call("PATCH", path, withKey("k2", patch))
  const repeated = await api.call("PATCH", path, withKey("k2", patch))
  const revisions = await api.call("GET", `${path}/revisions`)

  assert.deepEqual([first.status, again.status, patched.status, repeated.status], [201, 201, 200, 200])
  assert.deepEqual(again.body, first.body)
  assert.equal(again.headers.get("idempotent-replayed"), "true")
  assert.equal(first.headers.get("idempotent-replayed"), null)
  assert.deepEqual(repeated.body, patched.body)
  assert.equal(revisions.body.resources.length, 2)

  const otherBody = await api.call("POST", "/v2/deployments", withKey("k1", exampleDeployment("another")))
  const otherPath = await api.call("PATCH", path, withKey("k1", exampleDeployment()))
  const tooLong = await api.call("POST", "/v2/deployments", withKey("k".repeat(256), exampleDeployment("another")))

  assert.deepEqual([otherBody.status, otherPath.status, tooLong.status], [422, 422, 422])
  assert.equal(otherBody.body.code, "idempotency_key_reused")
})

test("concurrent requests with one key have one effect and one reply", async () => {
  await using api = await startApi()

  const replies = await Promise.all(
    Array.from({ length: 5 }, () => api.call("POST", "/v2/deployments", withKey("k", exampleDeployment()))),
  )

  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([201]))
  assert.equal(new Set(replies.map(({ text }) => text)).size, 1)
  const { body } = await api.call("GET", "/v2/deployments")
  assert.equal(body.resources.length, 1)
})

test("a key is free after a failed request and after a day, and belongs to its workspace", async () => {
  await using api = await startApi()
  const { id } = await api.deploy()
  const create = (name?: string) => api.call("POST", "/v2/deployments", withKey("k", exampleDeployment(name)))

  const failed = await create()
  await api.call("DELETE", `/v2/deployments/${id}`)
  const again = await create()
  const other = await api.callAsOther("POST", "/v2/deployments", withKey("k", exampleDeployment()))
  await api.db.run(sql`update idempotency_keys set created_at = now() - interval '25 hours'`)
  const late = await create("another")

  assert.deepEqual(fieldsOf([failed, again, other, late], "status"), [409, 201, 201, 201])
  assert.notEqual(other.body.id, again.body.id)
})

test("idempotency keys also work for secrets, previews and webhooks, and for removing a secret", async () => {
  await using api = await startApi()
  const { body: made } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  const git = await api.integrate("git", "t")
  const path = `/v2/deployments/${made.id}`
  const writes: [method: string, path: string, body: object | undefined][] = [
    ["PUT", `${path}/secrets`, { secrets: [{ name: "A", value: "value-1" }] }],
    ["PUT", `${path}/secrets/B`, { value: "value-2" }],
    ["DELETE", `${path}/secrets/B`, undefined],
    ["DELETE", `${path}/secrets`, undefined],
    ["PUT", `${path}/previews`, { max_previews: 3 }],
    ["PUT", `/v2/integrations/git/${git.id}/webhook`, { secrets: ["a-long-enough-hook-secret"] }],
  ]

  for (const [method, target, body] of writes) {
    const first = await api.call(method, target, withKey(`${method} ${target}`, body))
    const again = await api.call(method, target, withKey(`${method} ${target}`, body))
    assert.deepEqual([first.status, first.headers.get("idempotent-replayed")], [200, null], target)
    assert.deepEqual([again.status, again.headers.get("idempotent-replayed"), again.body], [200, "true", first.body])
    const other = await api.call(method, `${target}?deploy=false`, withKey(`${method} ${target}`, { ...body, x: 1 }))
    assert.deepEqual([other.status, other.body.code], [422, "idempotency_key_reused"])
  }
  const { body: revisions } = await api.call("GET", `${path}/revisions`)
  assert.equal(revisions.resources.length, 5, "one for each change of the secrets")
})

test("a request does not wait for another request's key, even an old one", async () => {
  await using api = await startApi()
  const { body: made } = await api.call("POST", "/v2/deployments", withKey("old", exampleDeployment()))
  await api.db.run(sql`update idempotency_keys set created_at = now() - interval '25 hours'`)
  const path = `/v2/deployments/${made.id}`
  let waiting: Promise<Reply> | undefined

  const other = await api.db.transaction(async (tx) => {
    await tx.run(sql`select from deployments where deployment_id = ${made.id} for update`)
    waiting = api.call("PATCH", path, withKey("new", { display_name: "Shop" }))
    const isWaiting = () =>
      api.db.row(sql`
        select from pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database() limit 1`)
    await until(async () => (await isWaiting()) !== undefined, { what: "the first request waits for the deployment" })
    return api.call("POST", "/v2/deployments", withKey("old", exampleDeployment("another")))
  })

  assert.deepEqual([other.status, (await waiting)?.status], [201, 200])
})
