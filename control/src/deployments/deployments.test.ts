import assert from "node:assert/strict"
import { test } from "node:test"
import { z } from "@hono/zod-openapi"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { shownOf } from "../revisions/field.js"
import { revisionReply } from "../revisions/schema.js"
import { sourceRevisionConfigFields } from "../revisions/source-revision-config.js"
import { exampleDeployment, exampleImage, startApi, type TestApi } from "../testing/api.js"
import { emptySourceConfig, emptySourceRevisionConfig } from "./deployment.js"
import { deploymentReply } from "./schema.js"

async function created(api: TestApi, body: object = exampleDeployment()) {
  const reply = await api.call("POST", "/v2/deployments", { body })
  assert.equal(reply.status, 201, reply.text)
  return reply.body
}

const revisionIds = async (api: TestApi, id: string): Promise<string[]> => {
  const { body } = await api.call("GET", `/v2/deployments/${id}/revisions`)
  return body.resources.map((revision: { id: string }) => revision.id)
}

test("a created deployment is returned with every field of the OpenAPI document, and so is its revision", async () => {
  await using api = await startApi()
  const { id, latest_revision_id, created_at, updated_at, ...post } = await created(api)

  const read = await api.call("GET", `/v2/deployments/${id}`)

  assert.deepEqual(post, {
    tenant_id: api.workspaceId,
    name: "shop-bot",
    display_name: null,
    source: "github",
    source_config: {
      ...emptySourceConfig,
      repo_url: "https://github.com/acme/shop",
      deployment_type: "dev",
      build_on_push: false,
      custom_url: "http://agents.test:8901/d/shop-bot",
      repo_branch: "main",
    },
    source_revision_config: {
      ...shownOf(sourceRevisionConfigFields, emptySourceRevisionConfig),
      repo_ref: "main",
      langgraph_config_path: "langgraph.json",
      graph_config_path: "langgraph.json",
    },
    secrets: [{ name: "MODEL_KEY", value: "********" }],
    secret_references: [],
    status: "AWAITING_DATABASE",
    active_revision_id: null,
    image_version: null,
    is_preview: false,
    agent_id: null,
    agent_environment: null,
    run_state: "running",
    health: null,
    is_restarting: false,
  })
  assert.deepEqual(read.body, { ...post, id, latest_revision_id, created_at, updated_at })
  assert.equal(read.headers.get("etag"), '"2"')
  assert.ok(!read.text.includes("sk-very-secret"))

  const revision = await api.call("GET", `/v2/deployments/${id}/revisions/${latest_revision_id}`)

  const { source_config, source_revision_config } = deploymentReply.shape
  z.strictObject(deploymentReply.shape).parse(read.body)
  z.strictObject(source_config.shape).parse(read.body.source_config)
  z.strictObject(source_revision_config.shape).parse(read.body.source_revision_config)
  z.strictObject(revisionReply.shape).parse(revision.body)
})

test("a name is unique in its workspace, and free again as soon as the 204 is sent; in another one it gets another address (D3, D5)", async () => {
  await using api = await startApi()
  const { id } = await created(api)

  const taken = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  const other = await api.callAsOther("POST", "/v2/deployments", { body: exampleDeployment() })
  await api.call("DELETE", `/v2/deployments/${id}`)
  const again = await created(api)

  assert.deepEqual([taken.status, taken.body.conflicting_id], [409, id])
  assert.deepEqual([other.status, other.body.name], [201, "shop-bot"])
  assert.match(other.body.source_config.custom_url, /^http:\/\/agents\.test:8901\/d\/shop-bot-[0-9a-f]{6}$/)
  assert.equal(again.source_config.custom_url, "http://agents.test:8901/d/shop-bot")
})

test("of concurrent creations with one name, one succeeds, and the others leave nothing and use up no user for deployments", async () => {
  await using api = await startApi()

  const replies = await Promise.all(
    Array.from({ length: 6 }, () => api.call("POST", "/v2/deployments", { body: exampleDeployment() })),
  )

  assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409])
  const list = await api.call("GET", "/v2/deployments")
  assert.equal(list.headers.get("x-total-count"), "1")

  const attempts = [api.call, api.call, api.callAsOther, api.callAsOther]

  await Promise.all(attempts.map((call) => call("POST", "/v2/deployments", { body: exampleDeployment() })))
  const { id } = await created(api, exampleDeployment("next"))

  const next = await api.db.row(sql`select number from deployments where deployment_id = ${id}`)
  assert.deepEqual(next, { number: 3 })
})

test("a deleted deployment is shown as such until it is removed, and hidden from lists (D5)", async () => {
  await using api = await startApi()
  const { id } = await created(api)
  const path = `/v2/deployments/${id}`

  const early = await api.call("DELETE", `${path}?force=true`)
  await api.call("DELETE", `${path}?delete_tracing_project=true`)
  const read = await api.call("GET", path)
  const patched = await api.call("PATCH", path, { body: { display_name: "x" } })
  const again = await api.call("DELETE", path)
  const listed = await api.call("GET", "/v2/deployments")
  const asked = await api.call("GET", "/v2/deployments?status=AWAITING_DELETE")
  const forced = await api.call("DELETE", `${path}?force=true`)
  const final = await api.call("GET", path)

  assert.equal(early.status, 400)
  assert.equal(read.body.status, "AWAITING_DELETE")
  assert.equal(patched.status, 409)
  assert.equal(again.status, 204)
  assert.deepEqual(listed.body.resources, [])
  assert.equal(asked.body.resources[0].id, id)
  assert.equal(forced.status, 204)
  assert.equal(final.body.status, "AWAITING_FINAL_DELETE")
})

test("sources that start empty have no revision until there is something to build (D1)", async () => {
  await using api = await startApi()
  const start = (name: string, source: string) =>
    created(api, { name, source, source_config: { deployment_type: "dev" }, source_revision_config: {} })

  const archive = await start("by-archive", "internal_source")
  const image = await start("by-image", "internal_docker")
  const secrets = await api.call("PATCH", `/v2/deployments/${image.id}`, {
    body: { secrets: [{ name: "A", value: "1" }] },
  })
  const pushed = await api.call("PATCH", `/v2/deployments/${image.id}`, {
    body: { revision_source: "internal_docker", source_revision_config: { image_uri: "registry.test/a@sha256:00" } },
  })
  const foreign = await api.call("PATCH", `/v2/deployments/${archive.id}`, {
    body: { revision_source: "internal_source", source_revision_config: { source_tarball_path: "other/a.tgz" } },
  })

  assert.equal(archive.latest_revision_id, null)
  assert.equal(image.latest_revision_id, null)
  assert.equal(secrets.body.latest_revision_id, null)
  assert.deepEqual(await revisionIds(api, image.id), [pushed.body.latest_revision_id])
  assert.equal(foreign.status, 400)
})

test("a ready-made image gets its defaults, and no deployment type", async () => {
  await using api = await startApi()
  const image = (name: string, source_config: object) => ({ ...exampleImage(name), source_config })
  const config = { resource_spec: { cpu: 2, labels: { team: "a" } }, custom_url: "https://agent.acme.test" }

  const { source_config, latest_revision_id } = await created(api, image("image", config))
  const several = await created(api, image("several", { resource_spec: { min_scale: 3 } }))
  const body = image("typed", { deployment_type: "dev", resource_spec: {} })
  const typed = await api.call("POST", "/v2/deployments", { body })

  const spec = { min_scale: 1, max_scale: 1, cpu: 2, memory_mb: 2048, labels: { team: "a" } }
  assert.deepEqual(source_config.resource_spec, spec)
  assert.deepEqual(several.source_config.resource_spec, { min_scale: 3, max_scale: 3, cpu: 1, memory_mb: 2048 })
  assert.equal(source_config.custom_url, "https://agent.acme.test")
  assert.equal(source_config.deployment_type, null)
  assert.ok(latest_revision_id)
  assert.equal(typed.status, 400)
})

test("absent fields and nulls get the defaults that readers expect, and unknown ones are ignored and listed", async () => {
  await using api = await startApi()
  const nulls = { integration_id: null, deployment_type: null, build_on_push: null, build_command: null }
  const source_config = { ...nulls, repo_url: "https://github.com/acme/shop", speed: 1 }
  const body = { ...exampleDeployment(), colour: "blue", "a\nb": 1, source_config }

  const reply = await api.call("POST", "/v2/deployments", { body })

  assert.equal(reply.status, 201)
  assert.equal(reply.headers.get("x-ignored-fields"), "colour, a_b, source_config.speed")
  assert.ok(!("colour" in reply.body) && !("speed" in reply.body.source_config))
  assert.deepEqual([reply.body.source_config.deployment_type, reply.body.source_config.build_on_push], ["prod", false])
})

test("both spellings of the config path may be given if they agree", async () => {
  await using api = await startApi()
  const revision = (name: string, source_revision_config: object) => ({
    ...exampleDeployment(name),
    source_revision_config: { repo_ref: "main", ...source_revision_config },
  })

  const both = await api.call("POST", "/v2/deployments", {
    body: revision("a", { graph_config_path: "a.json", langgraph_config_path: "a.json" }),
  })
  const seed = await api.call("POST", "/v2/deployments", { body: revision("b", { graph_config_path: "b.json" }) })
  const differ = await api.call("POST", "/v2/deployments", {
    body: revision("c", { graph_config_path: "a.json", langgraph_config_path: "b.json" }),
  })

  assert.equal(both.status, 201)
  assert.equal(seed.body.source_revision_config.langgraph_config_path, "b.json")
  assert.equal(differ.status, 422)
  assert.deepEqual(differ.body.detail[0].loc, ["body", "source_revision_config", "graph_config_path"])
})

test("a new revision wakes the pipeline only after it is visible", async () => {
  await using api = await startApi()
  const woken: string[] = []
  const subscription = await api.db.listen("superstep_pipeline", (payload) => woken.push(payload))

  const { id } = await created(api)

  await until(() => woken.includes(id), { what: "the pipeline is woken" })
  assert.equal((await revisionIds(api, id)).length, 1)
  await subscription.close()
})
