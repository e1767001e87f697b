import assert from "node:assert/strict"
import { test } from "node:test"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { migrations, startApi } from "../testing/api.js"
import { createApiKey, createWorkspace, ensureDefaultWorkspace, revokeApiKey } from "./operations.js"

const unknownId = "00000000-0000-4000-8000-000000000000"

test("a request without a valid key is 401, on every path of the API (K1)", async () => {
  await using api = await startApi()
  const { clearKey, key } = await createApiKey(api.db, { workspaceId: api.workspaceId, name: "short-lived" })
  await revokeApiKey(api.db, key.api_key_id)
  for (const wrong of ["", "ssk_unknown", `${api.apiKey}x`, clearKey, "x".repeat(5000)]) {
    for (const path of ["/v2/deployments", `/v2/deployments/${unknownId}`, "/v2/nothing", "/api-host/v1/nothing"]) {
      const reply = await api.call("GET", path, { headers: { "x-api-key": wrong } })

      assert.equal(reply.status, 401, path)
      assert.equal(reply.body.detail, "Invalid API key")
    }
  }
})

test("a workspace's key needs no tenant, and has no rights on another (K2)", async () => {
  await using api = await startApi()
  const as = async (tenant: string) => {
    const reply = await api.call("GET", "/v2/deployments", { headers: { "x-tenant-id": tenant } })
    return reply.status
  }

  assert.equal(await as(api.workspaceId), 200)
  assert.equal(await as(api.workspaceId.toUpperCase()), 200)
  assert.equal(await as(""), 200)
  for (const tenant of [api.other.workspaceId, unknownId, "default", "' or 1=1 --"]) assert.equal(await as(tenant), 403)
})

test("an installation's key names its workspace with each request (K3)", async () => {
  await using api = await startApi()
  const as = (tenant: string) =>
    api.call("GET", "/v2/deployments", { headers: { "x-api-key": api.orgKey, "x-tenant-id": tenant } })

  const none = await api.call("GET", "/v2/deployments", { headers: { "x-api-key": api.orgKey } })

  assert.equal(none.status, 403)
  assert.match(none.body.detail, /requires workspace specification/)
  assert.equal((await as(api.workspaceId)).status, 200)
  assert.equal((await as(api.other.workspaceId)).status, 200)
  for (const tenant of [unknownId, "default"]) assert.equal((await as(tenant)).status, 403)
})

test("the first start creates one workspace and two keys, and later starts none; names are unique, and keys need a workspace that exists", async () => {
  await using db = await freshDatabase({ migrations })

  const [one, two] = await Promise.all([ensureDefaultWorkspace(db), ensureDefaultWorkspace(db)])
  const later = await ensureDefaultWorkspace(db)

  const first = one ?? two
  assert.ok(first)
  assert.equal([one, two].filter(Boolean).length, 1)
  assert.match(first.api_key, /^ssk_[\w-]{43}$/)
  assert.notEqual(first.api_key, first.org_api_key)
  assert.equal(later, undefined)

  await createWorkspace(db, "one")

  await assert.rejects(createWorkspace(db, "one"), Conflict)
  await assert.rejects(createApiKey(db, { workspaceId: unknownId, name: "x" }), NotFound)
  await assert.rejects(revokeApiKey(db, "nonsense"), NotFound)
})

test("creating and revoking a key triggers an update of the edge's table", async () => {
  await using db = await freshDatabase({ migrations })
  let reported = 0
  const subscription = await db.listen("superstep_pipeline", () => {
    reported += 1
  })

  const { key } = await createApiKey(db, { workspaceId: null, name: "ci" })
  await until(() => reported === 1, { what: "the new key is reported" })
  await revokeApiKey(db, key.api_key_id)
  await until(() => reported === 2, { what: "its end is reported" })

  await subscription.close()
})
