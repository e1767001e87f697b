import assert from "node:assert/strict"
import { test } from "node:test"
import { exampleDeployment, startApi } from "../testing/api.js"
import { createApiKey } from "../workspaces/operations.js"

const unknownId = "00000000-0000-4000-8000-000000000000"
const asBrowser = { headers: { "x-api-key": "" } }
const pathOf = (tenant: string, id: string) => `/o/${tenant}/host/deployments/${id}`

test("the link that the CLIs print shows a page, which without a key contains only what its address contains", async () => {
  await using api = await startApi()
  const { body: deployment } = await api.call("POST", "/v2/deployments", { body: exampleDeployment("very-private") })

  const page = await api.call("GET", pathOf(api.workspaceId, deployment.id), asBrowser)
  const below = await api.call("GET", `/api-host${pathOf(api.workspaceId, deployment.id)}`, asBrowser)
  const nobody = await api.call("GET", pathOf(unknownId, unknownId), asBrowser)

  assert.equal(page.status, 200)
  assert.equal(page.headers.get("content-type"), "text/html; charset=UTF-8")
  assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/)
  assert.equal(page.headers.get("cache-control"), "no-store")
  assert.ok(page.text.includes(`superstep logs -f ${deployment.id}`), page.text)
  assert.ok(page.text.includes(`langgraph deploy logs --deployment-id ${deployment.id}`))
  for (const reported of ["very-private", "MODEL_KEY", "github.com", deployment.latest_revision_id, "<script"]) {
    assert.ok(!page.text.includes(reported), reported)
  }
  assert.equal(below.text, page.text)
  // A missing deployment looks the same, so that ids cannot be probed.
  const own = page.text.replaceAll(deployment.id, unknownId).replaceAll(api.workspaceId, unknownId)
  assert.deepEqual([nobody.status, nobody.text], [200, own])
})

test("with a key of the workspace the page shows name, address and status", async () => {
  await using api = await startApi()
  const { body: deployment } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  const { clearKey } = await createApiKey(api.db, { workspaceId: api.workspaceId, name: "r", scopes: ["read"] })
  const path = pathOf(api.workspaceId, deployment.id)

  const page = await api.call("GET", path, { headers: { "x-api-key": clearKey } })
  const ofOrg = await api.call("GET", path, { headers: { "x-api-key": api.orgKey } })
  const ofOther = await api.callAsOther("GET", path)
  const elsewhere = await api.callAsOther("GET", pathOf(api.other.workspaceId, deployment.id))
  const wrong = await api.call("GET", path, { headers: { "x-api-key": "ssk_wrong" } })

  assert.equal(page.status, 200)
  for (const reported of ["shop-bot", "http://agents.test:8901/d/shop-bot", "AWAITING_DATABASE", "CREATING"]) {
    assert.ok(page.text.includes(reported), reported)
  }
  assert.ok(!page.text.includes("MODEL_KEY"))
  assert.equal(ofOrg.text, page.text)
  assert.deepEqual([ofOther.status, elsewhere.status, wrong.status], [403, 404, 401])
})

test("the address is escaped in the page, and an invalid id has no page", async () => {
  await using api = await startApi()
  const { body: deployment } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  await api.change(deployment.id, { display_name: "<img src=x onerror=alert(1)>" })

  const shown = await api.call("GET", pathOf(api.workspaceId, deployment.id))
  const malformed = await api.call("GET", pathOf("%3Cscript%3E", deployment.id), asBrowser)

  assert.ok(shown.text.includes("&lt;img src=x onerror=alert(1)&gt;"), shown.text)
  assert.ok(!shown.text.includes("<img"))
  assert.deepEqual([malformed.status, malformed.headers.get("content-type")], [422, "application/json"])
})
