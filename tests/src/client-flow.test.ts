/** The example client of the control plane's documentation, in its order and with its codes (control-plane §2.1). */
import assert from "node:assert/strict"
import { test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { type Deployment, deploymentOf, type Revision, untilDeployed } from "./testing/deployments.js"
import { startPlatform } from "./testing/platform.js"
import { createRepository } from "./testing/repository.js"

test("create, list revisions, poll, patch twice, poll, delete: the documented client is served in full", async () => {
  await using platform = await startPlatform()
  const repository = await createRepository()
  const secret = { name: "MODEL_KEY", value: "s3cret" }
  const revisionsOf = async (id: string) => {
    const { status, body } = await platform.api<{ resources: Revision[] }>("GET", `/v2/deployments/${id}/revisions`)
    assert.equal(status, 200)
    return body.resources
  }

  const request = { ...deploymentOf("flow", repository.url), secrets: [secret] }
  const created = await platform.api<Deployment>("POST", "/v2/deployments", request)
  assert.equal(created.status, 201)
  const { id } = created.body

  const [first] = await revisionsOf(id)
  assert.equal(first?.id, created.body.latest_revision_id)
  await untilDeployed(platform, id, first?.id ?? "")

  const pushes = await platform.api<Deployment>("PATCH", `/v2/deployments/${id}`, {
    source_config: { build_on_push: true },
  })
  assert.equal(pushes.status, 200)
  assert.equal(pushes.body.latest_revision_id, first?.id)
  assert.equal((await revisionsOf(id)).length, 1)

  const changed = await platform.api<Deployment>("PATCH", `/v2/deployments/${id}`, {
    source_config: { build_on_push: true },
    source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
  })
  assert.equal(changed.status, 200)
  const [second] = await revisionsOf(id)
  assert.notEqual(second?.id, first?.id)
  assert.equal(second?.id, changed.body.latest_revision_id)
  await untilDeployed(platform, id, second?.id ?? "")

  const read = await platform.api<Deployment>("GET", `/api-host/v2/deployments/${id}`)
  assert.equal(read.body.active_revision_id, second?.id)
  assert.equal(JSON.stringify(read.body).includes(secret.value), false)

  const deleted = await platform.api("DELETE", `/v2/deployments/${id}`)
  assert.equal(deleted.status, 204)
  assert.equal(deleted.body, undefined)
  await until(async () => (await platform.api("GET", `/v2/deployments/${id}`)).status === 404, {
    what: "the deployment is gone",
    timeoutMs: 60_000,
  })
  const gone = await fetch(`${platform.agentsUrl}/d/flow/ok`)
  assert.equal(gone.status, 404)
})
