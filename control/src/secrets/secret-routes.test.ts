import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { exampleDeployment, startApi } from "../testing/api.js"
import { createApiKey } from "../workspaces/operations.js"
import { secretsOfRevision } from "./operations.js"

const secretMask = "********"

test("a single secret is set and removed; each change is a version and a revision that pins it (S6)", async () => {
  await using api = await startApi()
  const { body: made } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  const path = `/v2/deployments/${made.id}/secrets`
  const environment = (revisionId: string) => secretsOfRevision(api.db, api.key, { revision_id: revisionId })

  const set = await api.call("PUT", `${path}/OTHER`, { body: { value: "second-value" } })
  const later = await api.call("PUT", `${path}/OTHER?deploy=false`, { body: { value: "third-value" } })
  const removed = await api.call("DELETE", `${path}/MODEL_KEY`)
  const listed = await api.call("GET", path)
  const cleared = await api.call("DELETE", path)

  assert.deepEqual(await environment(set.body.latest_revision_id), {
    MODEL_KEY: "sk-very-secret",
    OTHER: "second-value",
  })
  assert.equal(later.body.latest_revision_id, set.body.latest_revision_id, "deploy=false makes no revision")
  assert.deepEqual(await environment(removed.body.latest_revision_id), { OTHER: "third-value" })
  assert.deepEqual(await environment(made.latest_revision_id), { MODEL_KEY: "sk-very-secret" })
  assert.deepEqual(listed.body.resources, [{ name: "OTHER", value: secretMask }])
  assert.deepEqual(cleared.body.names, [])
  assert.equal((await api.call("DELETE", `${path}/OTHER`)).status, 404)
  assert.equal((await api.call("PUT", `${path}/PORT`, { body: { value: "x" } })).status, 400)
  for (const body of [{}, { value: 1 }, { value: "\u0000" }]) {
    assert.equal((await api.call("PUT", `${path}/OTHER`, { body })).status, 422)
  }
  const events = await api.db.rows<{ data: { names: string[] } }>(sql`
    select data from events where type = 'secret.changed' order by seq`)
  assert.deepEqual(
    events.map(({ data }) => data.names),
    [["MODEL_KEY", "OTHER"], ["MODEL_KEY", "OTHER"], ["OTHER"], []],
  )
  assert.doesNotMatch(JSON.stringify(events), /(second|third)-value|very-secret/)
})

test("values are shown on request to a key with the scope, and the audit log records it (S3)", async () => {
  await using api = await startApi()
  const { body: made } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  const path = `/v2/deployments/${made.id}/secrets`
  const { clearKey } = await createApiKey(api.db, { workspaceId: api.workspaceId, name: "reader", scopes: ["read"] })
  const reader = { headers: { "x-api-key": clearKey } }

  const shown = await api.call("GET", `${path}/MODEL_KEY?reveal=true`)
  const refused = await api.call("GET", `${path}?reveal=true`, reader)
  const masks = await api.call("GET", path, reader)

  assert.deepEqual(shown.body, { name: "MODEL_KEY", value: "sk-very-secret" })
  assert.equal(shown.headers.get("cache-control"), "no-store")
  assert.equal(refused.status, 403)
  assert.deepEqual(masks.body.resources, [{ name: "MODEL_KEY", value: secretMask }])
  assert.equal((await api.call("PUT", `${path}/X`, { ...reader, body: { value: "1" } })).status, 403)
  for (const [method, target] of [
    ["GET", path],
    ["GET", `${path}/MODEL_KEY?reveal=true`],
    ["DELETE", path],
  ] as const) {
    assert.equal((await api.callAsOther(method, target)).status, 404)
  }
  const { body: audit } = await api.call("GET", `/v2/audit-log?resource_id=${made.id}`)
  const reported = audit.resources.map(({ action, path }: { action: string; path: string }) => [action, path])
  const action = "GET /v2/deployments/{deployment_id}/secrets/{name}"
  assert.deepEqual(reported, [
    [action, `${path}/MODEL_KEY`],
    ["POST /v2/deployments", "/v2/deployments"],
  ])
})
