/**
 * The Terraform provider (control-plane §2.6, C4), request by request, on a control plane with a real repository, real builds and a real
 * edge. recipes/terraform.wide.test.ts runs the provider itself where it is installed.
 */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { Json } from "@superstep/control/pipeline/testing/platform"
import {
  type PlatformWithRepository,
  platformWithRepository,
} from "@superstep/control/pipeline/testing/platform-with-repository"
import { until } from "@superstep/toolkit/testing/until"

let platform: PlatformWithRepository
before(async () => {
  platform = await platformWithRepository()
})
after(() => platform[Symbol.asyncDispose]())

/** Asks, and wants exactly this status: for these clients any other is a failure. */
async function ask(method: string, path: string, status: number, body?: unknown): Promise<Json> {
  const reply = await platform.call(method, path, body)
  assert.equal(reply.status, status, `${method} ${path}: ${JSON.stringify(reply.body)}`)
  return reply.body
}

async function untilDeployed(deploymentId: string, revisionId: string): Promise<Json> {
  const revision = await platform.untilEnded(deploymentId, revisionId)
  assert.equal(revision.status, "DEPLOYED", JSON.stringify(revision))
  return revision
}

test("C4: the Terraform provider creates, reads, updates and destroys", async () => {
  const sourceConfig = {
    integration_id: null,
    repo_url: platform.repository.url,
    deployment_type: null,
    build_on_push: null,
    custom_url: null,
    resource_spec: { cpu: 1, labels: { team: "a" }, x_unknown: [1] },
    listener_id: null,
    listener_config: null,
    install_command: null,
    build_command: null,
    template_id: null,
  }
  const sourceRevisionConfig = {
    repo_ref: "main",
    langgraph_config_path: "langgraph.json",
    image_uri: null,
    source_tarball_path: null,
  }
  const secrets = [
    { name: "A", value: "1" },
    { name: "B", value: "2" },
  ]

  // Create: everything is sent, and what comes back must have both ids.
  const created = await ask("POST", "/v2/deployments", 201, {
    name: "terraform",
    source: "github",
    source_config: sourceConfig,
    source_revision_config: sourceRevisionConfig,
    secrets,
    secret_references: [],
  })
  const path = `/v2/deployments/${created.id}`
  assert.ok(created.latest_revision_id)
  const named = await ask("PATCH", path, 200, { display_name: "Shop" })
  assert.equal(named.latest_revision_id, created.latest_revision_id)
  await untilDeployed(created.id, created.latest_revision_id)

  // Read: with the defaults filled in, and the spec as it was sent.
  const read = await ask("GET", path, 200)
  await ask("GET", `${path}/revisions/${created.latest_revision_id}`, 200)
  const { deployment_type, build_on_push, repo_branch, resource_spec } = read.source_config
  assert.deepEqual([deployment_type, build_on_push, repo_branch, read.display_name], ["prod", false, "main", "Shop"])
  assert.deepEqual(resource_spec, sourceConfig.resource_spec)
  assert.equal(read.active_revision_id, created.latest_revision_id)

  // Update in place, then by a revision whose resources are the present ones and the change.
  const moved = await ask("PATCH", path, 200, { display_name: "Store", source_config: { build_on_push: true } })
  assert.equal(moved.latest_revision_id, created.latest_revision_id)
  const revision = await ask("POST", `${path}/revisions`, 201, {
    source_revision_config: sourceRevisionConfig,
    source_config: { resource_spec: { ...resource_spec, memory_mb: 512 } },
    secrets: [...secrets, { name: "C", value: "3" }],
  })
  assert.equal(revision.status, "CREATING")
  await untilDeployed(created.id, revision.id)
  const updated = await ask("GET", path, 200)
  assert.deepEqual(updated.source_config.resource_spec, { ...sourceConfig.resource_spec, memory_mb: 512 })
  const names = updated.secrets.map(({ name }: { name: string }) => name)
  assert.deepEqual(names, ["A", "B", "C"])
  const listed = await ask("GET", `${path}/revisions?limit=1&offset=1&status=DEPLOYED`, 200)
  const ids = listed.resources.map(({ id }: { id: string }) => id)
  assert.deepEqual(ids, [created.latest_revision_id])

  // Destroy: asked until it is gone; one that is gone already is fine.
  await ask("DELETE", path, 204)
  await until(async () => (await platform.call("GET", path)).status === 404, { what: "the deployment is gone" })
  await ask("DELETE", path, 404)
})
