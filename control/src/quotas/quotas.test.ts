import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { lockDeployment } from "../deployments/queries.js"
import { recordDiskUse } from "../deployments/room.js"
import { useOf } from "../deployments/use.js"
import { exampleDeployment, startApi, type TestApi, testQuotas } from "../testing/api.js"
import { lockWorkspace } from "../workspaces/queries.js"
import { exceededBy, nothing } from "./quota.js"

const create = (api: TestApi, name: string, resource_spec: object | null = null) =>
  api.call("POST", "/v2/deployments", { body: exampleDeployment(name, { resource_spec }) })

/** Sets quotas as the operator does. */
const set = (api: TestApi, body: object, workspaceId = api.workspaceId) =>
  api.call("PATCH", "/v2/quotas", { body, headers: { "x-api-key": api.orgKey, "x-tenant-id": workspaceId } })

const countDeployments = async (api: TestApi): Promise<number> =>
  (await api.call("GET", "/v2/deployments")).body.resources.length

test("a unit counts with its limit, else twice its request, else the default (Q3)", () => {
  const uses = [
    { min_scale: 3, memory_limit_mb: 500, cpu_limit: 0.5 },
    { min_scale: 0, memory_mb: 300, cpu: 2 },
    null,
  ].map((resource_spec) => useOf({ resource_spec }))

  assert.deepEqual(uses, [
    { ...nothing, deployments: 1, units: 3, memory_mb: 1500, cpu: 1.5 },
    { ...nothing, deployments: 1, units: 1, memory_mb: 600, cpu: 4 },
    { ...nothing, deployments: 1, units: 1, memory_mb: 2048, cpu: 2 },
  ])
})

test("a reduction is never refused, an increase is checked (Q4)", () => {
  const quotas = { ...nothing, deployments: 1, units: 1, memory_mb: 100, cpu: 1 }
  const used = { ...nothing, deployments: 2, units: 4, memory_mb: 400, cpu: 1 }

  assert.equal(exceededBy(quotas, used, { ...nothing, units: -1, memory_mb: -100 }), undefined)
  assert.equal(exceededBy(quotas, used, { ...nothing, units: -1, memory_mb: 1 }), "memory_mb")
  assert.equal(exceededBy({ ...quotas, cpu: 2 }, used, { ...nothing, cpu: 1 }), undefined)
})

for (const [quota, limit, spec, more] of [
  ["deployments", 1, null, null],
  ["units", 2, { min_scale: 2 }, { min_scale: 1 }],
  ["memory_mb", 3000, { memory_limit_mb: 2000 }, { memory_limit_mb: 1001 }],
  ["cpu", 3, { cpu_limit: 2 }, { cpu: 1 }],
] as const) {
  test(`a deployment that exceeds the quota ${quota} is 409 with its value, and nothing is stored (Q1)`, async () => {
    await using api = await startApi()
    await set(api, { [quota]: limit })
    const first = await create(api, "first", spec)

    const refused = await create(api, "second", more)

    assert.equal(first.status, 201, first.text)
    assert.deepEqual([refused.status, refused.body.code, refused.body.quota], [409, "quota_exceeded", quota])
    assert.equal(refused.body.limit, limit)
    assert.match(
      refused.body.detail,
      new RegExp(`the quota ${quota} of this workspace is ${limit}: .* the operator can`),
    )
    assert.equal(await countDeployments(api), 1)
    await api.call("DELETE", `/v2/deployments/${first.body.id}`)
    assert.equal((await create(api, "second", more)).status, 201, "a deleted deployment counts no longer (Q2)")
  })
}

test("changes, redeploys and tiers are checked against the same quotas as creations (Q1)", async () => {
  await using api = await startApi()
  const { body: small } = await create(api, "small", { memory_mb: 500 })
  const path = `/v2/deployments/${small.id}`
  await api.call("PATCH", path, { body: { source_config: { resource_spec: { memory_mb: 1000 } } } })
  const { body: revisions } = await api.call("GET", `${path}/revisions`)
  await api.call("PATCH", path, { body: { source_config: { resource_spec: { memory_mb: 250 } } } })
  await set(api, { memory_mb: 1500 })
  const resized = (memory_mb: number) => ({ body: { source_config: { resource_spec: { memory_mb } } } })

  const changed = await api.call("PATCH", path, resized(751))
  const repeated = await api.call("POST", `${path}/revisions/${revisions.resources[0].id}/redeploy`)
  const tier = await api.call("PATCH", `${path}/resource-tiers`, { body: { compute_tier: "DEDICATED_M" } })
  const allowed = await api.call("PATCH", path, resized(750))

  for (const { status, body } of [changed, repeated, tier]) {
    assert.deepEqual([status, body.code, body.quota], [409, "quota_exceeded", "memory_mb"])
  }
  assert.equal(allowed.status, 200, allowed.text)
})

test("of concurrent requests for the last deployment, one succeeds (Q1)", async () => {
  await using api = await startApi()
  await set(api, { deployments: 1 })

  const replies = await Promise.all(["a", "b", "c", "d"].map((name) => create(api, name)))

  assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 409, 409, 409])
})

test("a workspace reads its quotas, and only the operator sets them (Q5)", async () => {
  await using api = await startApi()
  await create(api, "shop", { min_scale: 2 })

  const own = await api.call("PATCH", "/v2/quotas", { body: { units: 1000 } })
  const changed = await set(api, { units: 5, cpu: 0.5 })
  const back = await set(api, { cpu: null })
  const other = await api.callAsOther("GET", "/v2/quotas")

  assert.deepEqual([own.status, own.body.code], [403, "operator_required"])
  assert.match(own.body.detail, /org_api_key/)
  assert.deepEqual(changed.body.units, { limit: 5, used: 2, is_default: false })
  assert.deepEqual(changed.body.cpu, { limit: 0.5, used: 4, is_default: false })
  assert.deepEqual(back.body.cpu, { limit: testQuotas.cpu, used: 4, is_default: true })
  assert.deepEqual(back.body.units.limit, 5, "what is not named stays")
  assert.deepEqual((await api.call("GET", "/v2/quotas")).body, back.body)
  assert.deepEqual(other.body.units, { limit: testQuotas.units, used: 0, is_default: true })
})

test("a measurement of a deployment's disk and a change of it wait for each other in one order", async () => {
  await using api = await startApi()
  const { workspaceId, db } = api
  const { id: deploymentId } = (await create(api, "one")).body
  let measured: ReturnType<typeof recordDiskUse> | undefined

  await db.transaction(async (change) => {
    await lockDeployment(change, workspaceId, deploymentId)
    measured = recordDiskUse(db, { deploymentId, workspaceId, diskMb: 5, defaultMb: 100 })
    const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until(async () => (await db.rows(waiting)).length > 0, { what: "the measurement waits" })
    await lockWorkspace(change, workspaceId)
  })

  assert.deepEqual(await measured, { limitMb: 100, usedMb: 5 })
})
