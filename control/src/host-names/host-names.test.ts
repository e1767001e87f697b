import assert from "node:assert/strict"
import { test } from "node:test"
import { exampleDeployment, startApi, type TestApi } from "../testing/api.js"
import { routedNames } from "./queries.js"

const create = async (api: TestApi, name: string): Promise<string> =>
  (await api.call("POST", "/v2/deployments", { body: exampleDeployment(name) })).body.id

const pathOf = (deploymentId: string) => `/v2/deployments/${deploymentId}/host-names`

/** Adds a name as the operator does. */
const add = (api: TestApi, deploymentId: string, name: unknown) =>
  api.call("POST", pathOf(deploymentId), {
    body: { name },
    headers: { "x-api-key": api.orgKey, "x-tenant-id": api.workspaceId },
  })

test("a host name is added, listed, routed and removed", async () => {
  await using api = await startApi()
  const id = await create(api, "chat")

  const added = await add(api, id, "Agent.Example.com.")
  const again = await add(api, id, "agent.example.com")
  const listed = await api.call("GET", pathOf(id))
  const routed = await routedNames(api.db)
  const removed = await api.call("DELETE", `${pathOf(id)}/AGENT.example.com`)

  assert.deepEqual([added.status, again.status, removed.status], [201, 200, 204])
  const { created_at, ...shown } = added.body
  assert.deepEqual(shown, {
    name: "agent.example.com",
    url: "http://agent.example.com",
    status: "active",
    failure: null,
    certificate_expires_at: null,
    next_try_at: null,
  })
  assert.ok(Date.parse(created_at) > 0)
  assert.deepEqual(listed.body.resources, [added.body])
  assert.deepEqual(routed, [{ host_name: "agent.example.com", deployment_id: id, certificate_sha256: null }])
  assert.deepEqual((await api.call("GET", pathOf(id))).body.resources, [])
  assert.equal((await api.call("DELETE", `${pathOf(id)}/agent.example.com`)).status, 404)
})

test("invalid names and those of the platform are 422 (N2), and without a certificate authority only the operator adds any (N3)", async () => {
  await using api = await startApi()
  const id = await create(api, "chat")

  for (const name of ["x", "10.0.0.1", "*.example.com", "agent.example.com:443", "a.localhost", 7, null]) {
    assert.equal((await add(api, id, name)).status, 422, String(name))
  }
  const own = await add(api, id, "AGENTS.test.")

  assert.equal(own.status, 422)
  assert.match(own.text, /the platform's own name/)
  assert.deepEqual((await api.call("GET", pathOf(id))).body.resources, [])

  const refused = await api.call("POST", pathOf(id), { body: { name: "agent.example.com" } })

  assert.deepEqual([refused.status, refused.body.code], [403, "operator_required"])
  assert.deepEqual(await routedNames(api.db), [])
})

test("a name belongs to one deployment of the installation: of concurrent requests one succeeds (N1)", async () => {
  await using api = await startApi()
  const ids = await Promise.all(["one", "two", "three"].map((name) => create(api, name)))

  const replies = await Promise.all(ids.map((id) => add(api, id, "agent.example.com")))

  assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 409, 409])
  assert.deepEqual(
    replies.flatMap(({ body }) => body.code ?? []),
    ["host_name_taken", "host_name_taken"],
  )
  assert.equal((await routedNames(api.db)).length, 1)
})

test("a deployment that is being deleted loses its names at once (N4)", async () => {
  await using api = await startApi()
  const [former, next] = [await create(api, "former"), await create(api, "next")]
  await add(api, former, "agent.example.com")

  await api.call("DELETE", `/v2/deployments/${former}`)
  const late = await add(api, former, "late.example.com")
  const taken = await add(api, next, "agent.example.com")

  assert.deepEqual([late.status, late.body.code, taken.status], [409, "being_deleted", 201])
})

test("names beyond the workspace's quota are 409", async () => {
  await using api = await startApi()
  const [one, other] = [await create(api, "one"), await create(api, "other")]
  const operator = { "x-api-key": api.orgKey, "x-tenant-id": api.workspaceId }
  await api.call("PATCH", "/v2/quotas", { body: { host_names: 1 }, headers: operator })

  const first = await add(api, one, "a.example.com")
  const second = await add(api, other, "b.example.com")

  assert.deepEqual([first.status, second.status, second.body.quota], [201, 409, "host_names"])
  assert.deepEqual((await api.call("GET", "/v2/quotas")).body.host_names, { limit: 1, used: 1, is_default: false })
})
