/** Actions on deployments beyond a PATCH. Each test has its own deployments in one installation. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { exampleDeployment, exampleImage, shared, startApi } from "../testing/api.js"

const api = shared(() => startApi())

const unknownId = "00000000-0000-4000-8000-000000000000"

async function created(body: object): Promise<{ id: string; path: string; revision: string }> {
  const reply = await api.call("POST", "/v2/deployments", { body })
  assert.equal(reply.status, 201, reply.text)
  const { id, latest_revision_id } = reply.body
  return { id, path: `/v2/deployments/${id}`, revision: latest_revision_id }
}

/** Ends a revision as the pipeline would. */
const end = (revisionId: string, status: string, { sha = "a".repeat(40), code = null as string | null } = {}) =>
  api.db.run(sql`
    update revisions set status = ${status}, stage = null, finished_at = now(), commit_sha = ${sha}, error_code = ${code}
    where revision_id = ${revisionId}`)

const serve = (deploymentId: string, revisionId: string) =>
  api.db.run(sql`update deployments set active_revision_id = ${revisionId} where deployment_id = ${deploymentId}`)

const setRole = (revisionId: string, role: string) =>
  api.db.run(sql`update revisions set role = ${role} where revision_id = ${revisionId}`)

test("a canary's weight is changed, promoted and aborted; any other revision refuses it", async () => {
  const { id, path, revision: first } = await created(exampleDeployment("canaries", { canary_weight: 10 }))
  const act = (revisionId: string, action: string, request: object = {}) =>
    api.call("POST", `${path}/revisions/${revisionId}/${action}`, { body: request })
  const statusOf = async (...asked: Parameters<typeof act>) => (await act(...asked)).status

  const early = await act(first, "traffic", { weight: 20 })
  assert.deepEqual([early.status, early.body.traffic], [200, null], "it is to become one")
  assert.deepEqual([await statusOf(first, "abort"), await statusOf(first, "promote")], [409, 200])
  assert.equal(await statusOf(first, "traffic", { weight: 20 }), 409, "it takes over at its switch")
  await end(first, "DEPLOYED")
  await setRole(first, "serving")
  await serve(id, first)
  assert.deepEqual([await statusOf(first, "promote"), await statusOf(first, "abort")], [200, 409])

  const { body: changed } = await api.call("PATCH", path, { body: { source_revision_config: { repo_ref: "next" } } })
  const canary = changed.latest_revision_id
  await end(canary, "DEPLOYED")
  await setRole(canary, "canary")
  const weights = async () => {
    const { body: list } = await api.call("GET", `${path}/revisions`)
    return list.resources.map(({ traffic }: { traffic: { weight: number } | null }) => traffic?.weight ?? null)
  }
  assert.deepEqual(await weights(), [10, 90])
  for (const weight of [0, 100, 1.5, "10"]) assert.equal(await statusOf(canary, "traffic", { weight }), 422)
  assert.equal(await statusOf(canary, "traffic", { weight: 30 }), 200)
  assert.deepEqual(await weights(), [30, 70])
  assert.equal(await statusOf(unknownId, "promote"), 404)
  assert.equal(await statusOf(canary, "promote"), 200)
  assert.deepEqual([await statusOf(canary, "abort"), await statusOf(canary, "abort")], [200, 200], "not promoted yet")
  assert.deepEqual([await statusOf(canary, "promote"), await statusOf(canary, "traffic", { weight: 1 })], [409, 409])

  const { body: repeated } = await api.call("POST", `${path}/revisions/${first}/redeploy`, { body: {} })
  const row = await api.db.row(sql`select weight from revisions where revision_id = ${repeated.latest_revision_id}`)
  assert.deepEqual(row, { weight: null }, "what served before is not tried out again")
  const unset = { unset: ["source_config.canary_weight"] }
  const cleared = await api.call("PATCH", path, { body: unset })
  const both = await api.call("PATCH", path, { body: { ...unset, source_config: { canary_weight: 5 } } })
  assert.deepEqual([cleared.body.source_config.canary_weight, both.status], [null, 422])
})

const versionOf = async (path: string) => (await api.call("GET", path)).headers.get("etag")

test("a requested revision is refused while one is in progress, unless it may queue or supersede (CP-D8)", async () => {
  const { path, revision } = await created(exampleDeployment("conflicts"))
  const source_config = { resource_spec: { cpu: 2, x_unknown: [1] } }
  const body = { source_revision_config: { repo_ref: "next" }, source_config }

  const refused = await api.call("POST", `${path}/revisions`, { body })
  const queued = await api.call("POST", `${path}/revisions?on_conflict=queue`, { body })
  const superseding = await api.call("POST", `${path}/revisions?on_conflict=supersede`, { body: {} })
  const odd = await api.call("POST", `${path}/revisions?on_conflict=ignore`, { body })

  assert.equal(refused.status, 409)
  assert.equal(refused.body.conflicting_id, revision)
  assert.equal(queued.status, 201, queued.text)
  assert.equal(queued.body.status, "CREATING")
  assert.equal(queued.body.trigger, "api")
  assert.match(queued.body.actor, /^api_key:[0-9a-f-]{36}$/)
  assert.equal(superseding.status, 201)
  assert.equal(superseding.body.source_revision_config.repo_ref, "next")
  assert.deepEqual(superseding.body.resource_spec, source_config.resource_spec)
  assert.equal(odd.status, 422)
  const { body: list } = await api.call("GET", `${path}/revisions`)
  assert.deepEqual(fieldsOf(list.resources, "id", "status"), [
    [superseding.body.id, "CREATING"],
    [queued.body.id, "INTERRUPTED"],
    [revision, "INTERRUPTED"],
  ])
})

test("a revision without anything to build, and a push token, are refused with the reason", async () => {
  const { path } = await created({ name: "empty", source: "internal_source", source_config: {} })

  const reply = await api.call("POST", `${path}/revisions`, { body: {} })

  assert.deepEqual([reply.status, reply.body.code], [400, "nothing_to_build"])

  const pushed = await created({ name: "pushed", source: "internal_docker", source_config: {} })
  const other = await created(exampleDeployment("not-pushed"))

  const token = await api.call("POST", `${pushed.path}/push-token`, { body: { supports_registry_username: true } })
  const wrong = await api.call("POST", `${other.path}/push-token`)

  assert.deepEqual([token.status, token.body.code], [400, "no_registry"])
  assert.match(token.body.detail, /--remote/)
  assert.deepEqual([wrong.status, wrong.body.code], [400, "not_internal_docker"])
  assert.match(wrong.body.detail, /only available for 'internal_docker' source deployments/)
})

test("a redeploy uses the old revision's commit, secrets and resources", async () => {
  const { id, path, revision } = await created(exampleDeployment("again"))
  await end(revision, "DEPLOYED", { sha: "1".repeat(40) })
  await api.call("PATCH", path, {
    body: {
      source_config: { build_on_push: true, resource_spec: { cpu: 2 } },
      source_revision_config: { repo_ref: "next" },
      secrets: [{ name: "OTHER", value: "2" }],
    },
  })

  const reply = await api.call("POST", `${path}/revisions/${revision}/redeploy`, { text: "" })

  assert.equal(reply.status, 200, reply.text)
  const { latest_revision_id: made, source_config, source_revision_config, secrets } = reply.body
  assert.deepEqual([source_config.build_on_push, source_config.resource_spec], [true, null])
  assert.deepEqual([source_revision_config.repo_ref, source_revision_config.repo_commit_sha], ["main", "1".repeat(40)])
  assert.deepEqual(secrets, [{ name: "MODEL_KEY", value: "********" }])
  const { body: read } = await api.call("GET", `${path}/revisions/${made}`)
  assert.deepEqual([read.trigger, read.repeats_revision_id], ["redeploy", revision])
  const pins = await api.db.rows<{ secrets_version: number }>(sql`
    select secrets_version from revisions where deployment_id = ${id} order by seq`)
  assert.deepEqual(fieldsOf(pins, "secrets_version"), [1, 2, 1])

  const later = await api.call("PATCH", path, { body: { secrets: [{ name: "A", value: "3" }] } })
  assert.equal(later.body.source_revision_config.repo_commit_sha, "1".repeat(40), "a secret moves no code")
  const moved = await api.call("PATCH", path, { body: { source_revision_config: { repo_ref: "main" } } })
  assert.equal(moved.body.source_revision_config.repo_commit_sha, null)
})

test("repeated rollbacks go back to the previous good revision, until there is none", async () => {
  const { id, path, revision: first } = await created(exampleDeployment("back"))
  const next = async (status: string, code: string | null = null) => {
    const { body } = await api.call("POST", `${path}/revisions?on_conflict=queue`, { body: {} })
    await end(body.id, status, { code })
    return body.id as string
  }
  const rollBack = async (body?: object) => api.call("POST", `${path}/rollback`, { ...(body && { body }) })
  const repeated = async (deployment: { latest_revision_id: string }) => {
    const made = deployment.latest_revision_id
    await end(made, "DEPLOYED")
    await serve(id, made)
    return (await api.call("GET", `${path}/revisions/${made}`)).body.repeats_revision_id
  }
  await end(first, "DEPLOYED")
  const crashed = await next("DEPLOYED", "crash_loop")
  const second = await next("DEPLOYED")
  const failed = await next("BUILD_FAILED")
  const third = await next("DEPLOYED")
  await serve(id, third)

  assert.equal(await repeated((await rollBack()).body), second)
  assert.equal(await repeated((await rollBack()).body), first)
  const none = await rollBack()
  assert.deepEqual([none.status, none.body.code], [409, "nothing_to_roll_back_to"])
  assert.equal(await repeated((await rollBack({ revision_id: third })).body), third)
  const never = await rollBack({ revision_id: failed })
  assert.deepEqual([never.status, never.body.code], [409, "never_served"])
  assert.equal((await rollBack({ revision_id: unknownId })).status, 404)
  assert.equal((await rollBack({ revision_id: crashed })).status, 200, "who names it gets it")
})

test("a revision is interrupted while it is in progress, and not after", async () => {
  const { path, revision } = await created(exampleDeployment("stop"))
  const interrupt = () => api.call("POST", `${path}/revisions/${revision}/interrupt`)

  const first = await interrupt()
  const again = await interrupt()
  await end(revision, "DEPLOYED")
  const late = await interrupt()
  await api.db.run(sql`update revisions set status = 'DEPLOYING', stage = 'switch' where revision_id = ${revision}`)
  const switching = await interrupt()

  assert.deepEqual([first.status, first.body.status, first.body.error_code], [202, "INTERRUPTED", "interrupted"])
  assert.deepEqual([again.status, again.body.status], [202, "INTERRUPTED"])
  assert.deepEqual([late.status, late.body.code], [409, "not_interruptible"])
  assert.equal(switching.status, 409)
  assert.match(switching.body.detail, /roll back/)
})

test("pause, resume and restart store the wanted run state; a sleeping deployment is shown as asleep, and can be paused", async () => {
  const { id, path } = await created(exampleDeployment("rest"))
  const act = (name: string) => api.call("POST", `${path}/${name}`)
  const wanted = () =>
    api.db.row(sql`select desired_run_state, restart_generation from deployments where deployment_id = ${id}`)

  const restarted = await act("restart")
  const paused = await act("pause")
  const tag = await versionOf(path)
  const again = await act("pause")
  const refused = await act("restart")

  assert.deepEqual([restarted.status, paused.status, paused.body.run_state], [200, 200, "paused"])
  assert.deepEqual([again.status, await versionOf(path)], [200, tag])
  assert.deepEqual([refused.status, refused.body.code], [409, "paused"])
  assert.deepEqual(await wanted(), { desired_run_state: "paused", restart_generation: 1 })
  assert.equal((await act("resume")).body.run_state, "running")
  assert.equal((await api.call("GET", `${path}/revisions`)).body.resources.length, 1, "no revision comes of it")

  const runState = async () => (await api.call("GET", path)).body.run_state

  await api.db.run(sql`insert into sleeps (deployment_id) values (${id})`)
  const asleep = await runState()
  await api.db.run(sql`update sleeps set is_waking = true where deployment_id = ${id}`)
  const waking = await runState()
  await api.db.run(sql`update sleeps set is_waking = false where deployment_id = ${id}`)
  await act("pause")

  assert.deepEqual([asleep, waking, await runState()], ["asleep", "running", "paused"])
})

test("tiers become resources and a revision, and fields that they do not set stay; the type can be changed without a revision", async () => {
  const { path } = await created(exampleDeployment("sized", { resource_spec: { cpu: 8, labels: { team: "a" } } }))

  const body = { compute_tier: "DEDICATED_M", database_tier: "SERVERLESS_S" }
  const reply = await api.call("PATCH", `${path}/resource-tiers`, { body })
  const neither = await api.call("PATCH", `${path}/resource-tiers`, { body: {} })
  const unknown = await api.call("PATCH", `${path}/resource-tiers`, { body: { compute_tier: "HUGE" } })

  assert.equal(reply.status, 200, reply.text)
  const { cpu, labels, db_memory_mb } = reply.body.source_config.resource_spec
  assert.deepEqual({ cpu, labels, db_memory_mb }, { cpu: 2, labels: { team: "a" }, db_memory_mb: 256 })
  assert.equal((await api.call("GET", `${path}/revisions`)).body.resources.length, 2)
  assert.deepEqual([neither.status, unknown.status], [422, 422])

  const { path: typed, revision } = await created(exampleDeployment("typed"))
  const image = await created(exampleImage("an-image"))

  const changed = await api.call("PATCH", `${typed}/deployment-tier`, { body: { deployment_type: "prod" } })
  const refused = await api.call("PATCH", `${image.path}/deployment-tier`, { body: { deployment_type: "prod" } })

  assert.deepEqual([changed.body.source_config.deployment_type, changed.body.latest_revision_id], ["prod", revision])
  assert.equal(refused.status, 400)
})

test("a bulk deletion is 200 if all are deleted, otherwise 207 with the reasons", async () => {
  const [one, two, three] = await Promise.all(["b1", "b2", "b3"].map((name) => created(exampleDeployment(name))))
  const ids = (...list: (string | undefined)[]) => `/v2/deployments?deployment_ids=${list.join(",")}`

  const all = await api.call("DELETE", ids(one?.id, two?.id))
  const part = await api.call("DELETE", ids(unknownId, three?.id, three?.id))
  const forced = await api.call("DELETE", `${ids(one?.id)}&force=true`)
  const none = await api.call("DELETE", "/v2/deployments")
  const empty = await api.call("DELETE", "/v2/deployments?deployment_ids=")
  const many = await api.call("DELETE", ids(...Array.from({ length: 101 }, () => unknownId)))

  assert.deepEqual([all.status, forced.status], [200, 200])
  assert.deepEqual(fieldsOf(all.body.results, "id", "status"), [
    [one?.id, 204],
    [two?.id, 204],
  ])
  assert.equal(part.status, 207)
  assert.deepEqual(part.body.results, [
    { id: unknownId, status: 404, detail: `Deployment ID ${unknownId} not found.` },
    { id: three?.id, status: 204, detail: null },
  ])
  assert.deepEqual([none.status, empty.status, many.status], [422, 422, 422])
})

test("a deletion takes a revision that is being switched to from its process, at once", async () => {
  const { path, revision } = await created(exampleDeployment("gone-meanwhile"))
  await api.db.run(sql`
    update revisions set stage = 'switch', status = 'DEPLOYING', lease_owner = 'home/1', fence = 7
    where revision_id = ${revision}`)

  await api.call("DELETE", path)

  const now = await api.db.row(
    sql`select stage, status, lease_owner, fence from revisions where revision_id = ${revision}`,
  )
  assert.deepEqual(now, { stage: null, status: "INTERRUPTED", lease_owner: null, fence: 8 })
})

test("free deployments are counted", async () => {
  const before = (await api.call("GET", "/v2/deployments/free-count")).body.count
  await api.deploy("free", { deployment_type: "dev_free" })

  const reply = await api.call("GET", "/v2/deployments/free-count")

  assert.deepEqual([reply.status, reply.body.count], [200, before + 1])
})

test("clients of the first API version create and list revisions of a project", async () => {
  const { id, revision } = await created(exampleDeployment("project"))
  const path = `/v1/projects/${id}/revisions`
  const body = { repo_path: "apps/agent/langgraph.json", env_vars: [{ name: "A", value: "1", type: "secret" }] }

  const busy = await api.call("POST", path, { body })
  await end(revision, "DEPLOYED")
  const reply = await api.call("POST", path, { body: { ...body, shareable: true } })
  const list = await api.call("GET", `${path}?limit=1`)

  assert.equal(busy.status, 409)
  assert.equal(reply.status, 201, reply.text)
  const made = reply.body.resource.latest_revision.hosted_langserve_revision_id
  assert.equal(reply.headers.get("x-ignored-fields"), "shareable")
  assert.deepEqual(list.body, [{ id: made, status: "CREATING", status_message: null }])
  const { body: deployment } = await api.call("GET", `/v2/deployments/${id}`)
  assert.equal(deployment.source_revision_config.langgraph_config_path, body.repo_path)
  assert.deepEqual(deployment.secrets, [{ name: "A", value: "********" }])
})

test("every change with an old ETag is refused, and every one of a deployment that is being deleted", async () => {
  const { path, revision } = await created(exampleDeployment("tagged"))
  const stale = { headers: { "if-match": '"1"' } }
  const requests: [string, string, object?][] = [
    ["POST", "/revisions"],
    ["POST", `/revisions/${revision}/redeploy`],
    ["POST", "/rollback"],
    ["POST", "/pause"],
    ["POST", "/resume"],
    ["POST", "/restart"],
    ["PATCH", "/resource-tiers", { compute_tier: "DEDICATED_S" }],
    ["PATCH", "/deployment-tier", { deployment_type: "prod" }],
  ]
  for (const [method, end, body] of requests) {
    const reply = await api.call(method, `${path}${end}`, { ...stale, ...(body && { body }) })

    assert.equal(reply.status, 412, `${method} ${end}: ${reply.text}`)
  }

  await api.call("DELETE", path)

  for (const end of ["revisions", `revisions/${revision}/redeploy`, "rollback", "pause", "resume", "restart"]) {
    const reply = await api.call("POST", `${path}/${end}`)

    assert.deepEqual([reply.status, reply.body.code], [409, "being_deleted"], end)
  }
})
