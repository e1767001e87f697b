import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { exampleDeployment, startApi } from "../testing/api.js"

const withKey = (key: string, body: unknown) => ({ body, headers: { "idempotency-key": key } })

test("a repeated request gets the first one's reply and changes nothing", async () => {
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
})

test("requests with one key at once have one effect and one reply", async () => {
  await using api = await startApi()

  const replies = await Promise.all(
    Array.from({ length: 5 }, () => api.call("POST", "/v2/deployments", withKey("k", exampleDeployment()))),
  )

  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([201]))
  assert.equal(new Set(replies.map(({ text }) => text)).size, 1)
  const { body } = await api.call("GET", "/v2/deployments")
  assert.equal(body.resources.length, 1)
})

test("a key that was used for another request is 422", async () => {
  await using api = await startApi()
  const { body } = await api.call("POST", "/v2/deployments", withKey("k", exampleDeployment()))

  const otherBody = await api.call("POST", "/v2/deployments", withKey("k", exampleDeployment("another")))
  const otherPath = await api.call("PATCH", `/v2/deployments/${body.id}`, withKey("k", exampleDeployment()))
  const tooLong = await api.call("POST", "/v2/deployments", withKey("k".repeat(256), exampleDeployment("another")))

  assert.deepEqual([otherBody.status, otherPath.status, tooLong.status], [422, 422, 422])
  assert.equal(otherBody.body.code, "idempotency_key_reused")
})

test("a request that failed may be tried again under its key", async () => {
  await using api = await startApi()
  const { body } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })

  const failed = await api.call("POST", "/v2/deployments", withKey("k", exampleDeployment()))
  await api.call("DELETE", `/v2/deployments/${body.id}`)
  const again = await api.call("POST", "/v2/deployments", withKey("k", exampleDeployment()))

  assert.deepEqual([failed.status, again.status], [409, 201])
})

test("a key belongs to its workspace", async () => {
  await using api = await startApi()

  const one = await api.call("POST", "/v2/deployments", withKey("k", exampleDeployment()))
  const other = await api.callAsOther("POST", "/v2/deployments", withKey("k", exampleDeployment()))

  assert.equal(other.status, 201)
  assert.notEqual(other.body.id, one.body.id)
})

test("a key is forgotten after a day", async () => {
  await using api = await startApi()
  await api.call("POST", "/v2/deployments", withKey("k", exampleDeployment()))
  await api.db.run(sql`update idempotency_keys set created_at = now() - interval '25 hours'`)

  const reply = await api.call("POST", "/v2/deployments", withKey("k", exampleDeployment("another")))

  assert.equal(reply.status, 201)
})
