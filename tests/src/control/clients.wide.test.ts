/**
 * Other people's clients, request by request, on one control plane with a real repository, real builds and a real edge
 * (control-plane §2.6): C3 the vendor's CLI, C4 the Terraform provider, C7 the script that previews pull requests.
 */
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { deploymentOf, type Json, smallProject } from "@superstep/control/pipeline/testing/platform"
import {
  type PlatformWithRepository,
  platformWithRepository,
} from "@superstep/control/pipeline/testing/platform-with-repository"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
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

const serving = async (url: string) => (await fetch(`${url}/ok`)).headers.get("x-revision-id")

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
  assert.deepEqual(
    updated.secrets.map(({ name }: { name: string }) => name),
    ["A", "B", "C"],
  )
  const listed = await ask("GET", `${path}/revisions?limit=1&offset=1&status=DEPLOYED`, 200)
  assert.deepEqual(
    listed.resources.map(({ id }: { id: string }) => id),
    [created.latest_revision_id],
  )

  // Destroy: asked until it is gone; one that is gone already is fine.
  await ask("DELETE", path, 204)
  await until(async () => (await platform.call("GET", path)).status === 404, { what: "the deployment is gone" })
  await ask("DELETE", path, 404)
})

test("C7: the script for pull requests makes, updates and removes a preview, whose name is free at once", async () => {
  const name = "preview-pr-12"
  const find = async () => {
    const { resources } = await ask("GET", `/v2/deployments?name_contains=${name}`, 200)
    return resources.find((deployment: { name: string }) => deployment.name === name)
  }
  assert.equal(await find(), undefined)

  const created = await ask("POST", "/v2/deployments", 201, deploymentOf(platform.repository.url, { name }))
  await untilDeployed(created.id, created.latest_revision_id)
  const first = await find()
  assert.equal(first.id, created.id)
  platform.repository.commit({ ...smallProject, "more.txt": "x" }, "feature/more")
  const updated = await ask("PATCH", `/v2/deployments/${first.id}`, 200, {
    source_revision_config: { repo_ref: "feature/more", langgraph_config_path: "langgraph.json" },
  })
  const [newest] = (await ask("GET", `/v2/deployments/${first.id}/revisions`, 200)).resources
  assert.equal(newest.id, updated.latest_revision_id)
  const revision = await untilDeployed(first.id, newest.id)
  assert.equal(revision.source_revision_config.repo_commit_sha, platform.repository.git("rev-parse", "feature/more"))

  await ask("DELETE", `/v2/deployments/${first.id}`, 204)
  const again = await ask("POST", "/v2/deployments", 201, deploymentOf(platform.repository.url, { name }))
  assert.equal((await find()).id, again.id)
  assert.equal(again.source_config.custom_url, first.source_config.custom_url)
  await untilDeployed(again.id, again.latest_revision_id)
  assert.equal(await serving(again.source_config.custom_url), again.latest_revision_id)
})

test("an operator rolls back, redeploys and interrupts", async () => {
  const created = await ask("POST", "/v2/deployments", 201, deploymentOf(platform.repository.url, { name: "operated" }))
  const path = `/v2/deployments/${created.id}`
  const url = created.source_config.custom_url
  const first = await untilDeployed(created.id, created.latest_revision_id)
  platform.repository.commit({ ...smallProject, "second.txt": "x" })
  const second = await ask("POST", `${path}/revisions`, 201, {})
  await untilDeployed(created.id, second.id)

  const back = await ask("POST", `${path}/rollback`, 200)
  const rolledBack = await untilDeployed(created.id, back.latest_revision_id)
  assert.deepEqual([rolledBack.trigger, rolledBack.repeats_revision_id], ["rollback", first.id])
  assert.equal(rolledBack.commit.sha, first.commit.sha)
  assert.ok(!("build" in rolledBack.duration_ms_by_stage), "nothing is built")
  assert.ok("build" in first.duration_ms_by_stage)
  assert.equal(await serving(url), rolledBack.id)
  assert.equal((await ask("GET", `${path}/revisions/${rolledBack.id}`, 200)).health, "healthy")

  const redeployed = await ask("POST", `${path}/revisions/${second.id}/redeploy`, 200)
  const repeated = await untilDeployed(created.id, redeployed.latest_revision_id)
  assert.equal(repeated.repeats_revision_id, second.id)
  assert.ok(!("build" in repeated.duration_ms_by_stage))
  assert.equal(await serving(url), repeated.id)

  platform.repository.commit({ ...smallProject, "third.txt": "x" }, "feature/slow")
  const slow = await ask("POST", `${path}/revisions`, 201, {
    source_config: { build_command: "sleep 600" },
    source_revision_config: { repo_ref: "feature/slow" },
  })
  await ask("POST", `${path}/rollback`, 409, { revision_id: slow.id })
  const interrupted = await ask("POST", `${path}/revisions/${slow.id}/interrupt`, 202)
  assert.equal(interrupted.status, "INTERRUPTED")
  await ask("POST", `${path}/revisions/${slow.id}/interrupt`, 202)
  assert.equal(await serving(url), repeated.id)
})

/** The archive as the CLI packs it. */
function packed(files: Readonly<Record<string, string>>): Buffer {
  const folder = temporaryFolder()
  const tree = join(folder, "tree")
  mkdirSync(tree)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(tree, name), text)
  execFileSync("tar", ["-czf", join(folder, "archive.tar.gz"), "-C", tree, "."])
  return readFileSync(join(folder, "archive.tar.gz"))
}

test("C3: the vendor's CLI deploys an archive, reads logs and deletes", async () => {
  const name = "conf-agent"
  assert.deepEqual((await ask("GET", `/v2/deployments?name_contains=${name}`, 200)).resources, [])
  const created = await ask("POST", "/v2/deployments", 201, {
    name,
    source: "internal_source",
    source_config: { deployment_type: "dev" },
    source_revision_config: {},
    secrets: [{ name: "A", value: "1" }],
  })
  assert.equal(created.latest_revision_id, null)
  const path = `/v2/deployments/${created.id}`

  const { upload_url, object_path } = await ask("POST", `${path}/upload-url`, 200)
  const put = await fetch(upload_url, {
    method: "PUT",
    headers: { "content-type": "application/gzip", "x-goog-content-length-range": "0,209715200" },
    body: new Uint8Array(packed(smallProject)),
  })
  assert.ok(put.ok, `${put.status} ${await put.text()}`)
  const patched = await ask("PATCH", path, 200, {
    revision_source: "internal_source",
    source_revision_config: { source_tarball_path: object_path, langgraph_config_path: "langgraph.json" },
    secrets: [{ name: "A", value: "1" }],
  })
  assert.equal(patched.tenant_id, created.tenant_id)
  const { resources } = await ask("GET", `${path}/revisions?limit=1`, 200)
  await untilDeployed(created.id, resources[0].id)
  const deployed = await ask("GET", path, 200)
  assert.equal(await serving(deployed.source_config.custom_url), resources[0].id)

  const ofRevision = `/v1/projects/${created.id}/revisions/${resources[0].id}`
  const build = await ask("POST", `${ofRevision}/build_logs`, 200, { order: "asc", limit: 50 })
  assert.ok(
    build.logs.every(({ id, timestamp, level, message }: Json) => id && timestamp && level && message !== undefined),
  )
  await ask("POST", `${ofRevision}/build_logs`, 200, { order: "desc", limit: 30, level: "ERROR", query: "x" })
  await ask("POST", `/v1/projects/${created.id}/deploy_logs`, 200, { limit: 100, order: "desc" })
  const listed = await ask("GET", "/v2/deployments?name_contains=", 200)
  assert.ok(listed.resources.some(({ id }: { id: string }) => id === created.id))
  await ask("DELETE", path, 204)
})
