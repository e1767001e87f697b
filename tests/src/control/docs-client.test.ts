/**
 * Two clients on one installation with real agents: the example of the documentation, in its order and with its codes
 * (control-plane §2.1, C1), and the vendor's benchmark, which attaches to a revision in progress and then wants the new
 * one to answer at once (§2.5, C5).
 */
import assert from "node:assert/strict"
import { test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { type Deployment, deploymentOf, type Revision, untilDeployed } from "../testing/deployments.js"
import { keepAsking } from "../testing/live-traffic.js"
import { startPlatform } from "../testing/platform.js"
import { createRepository } from "../testing/repository.js"

test("create, list revisions, poll, patch, attach and poll, delete: both clients are served in full", {
  skip: unlessWide("takes half a minute"),
}, async () => {
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

  const headers = { "x-api-key": platform.credentials.api_key }
  const traffic = { apiKey: headers["x-api-key"], perSecond: 20 }
  const requests = keepAsking(`${platform.agentsUrl}/d/flow`, traffic)
  const changed = await platform.api<Deployment>("PATCH", `/v2/deployments/${id}`, {
    source_config: { build_on_push: true },
    source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
  })
  assert.equal(changed.status, 200)
  const [second] = await revisionsOf(id)
  assert.notEqual(second?.id, first?.id)
  assert.equal(second?.id, changed.body.latest_revision_id)
  await untilDeployed(platform, id, second?.id ?? "")

  const post = () => platform.api<{ id: string; detail: string }>("POST", `/v2/deployments/${id}/revisions`, {})
  const asked = await post()
  assert.equal(asked.status, 201)
  const refused = await post()
  assert.equal(refused.status, 409)
  const [attached] = await revisionsOf(id)
  assert.equal(attached?.id, asked.body.id)
  await untilDeployed(platform, id, asked.body.id)
  for (let time = 1; time <= 6; time++) {
    const reply = await fetch(`${platform.agentsUrl}/d/flow/ok?check_db=1`, { headers })
    assert.deepEqual([reply.status, await reply.json()], [200, { ok: true }], `time ${time} after DEPLOYED`)
    assert.equal(reply.headers.get("x-revision-id"), asked.body.id)
  }
  await requests.stop()
  assert.deepEqual([...new Set(requests.answers.map(({ failure }) => failure))], [""])

  const read = await platform.api<Deployment>("GET", `/api-host/v2/deployments/${id}`)
  assert.equal(read.body.active_revision_id, asked.body.id)
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
