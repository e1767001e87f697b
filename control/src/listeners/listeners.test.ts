import assert from "node:assert/strict"
import { test } from "node:test"
import { exampleDeployment, shared, startApi } from "../testing/api.js"

const api = shared(() => startApi())

const body = (compute_id: string) => ({
  compute_type: "k8s",
  compute_id,
  compute_config: { k8s_namespaces: ["agents"] },
})

test("a listener is registered, read, changed, listed and deleted; a workspace has one for each cluster, and others have theirs (L1)", async () => {
  const made = await api.call("POST", "/v2/listeners", { body: body("cluster-1") })
  const path = `/v2/listeners/${made.body.id}`
  const changed = await api.call("PATCH", path, { body: { version: "1.2", compute_config: null } })
  const read = await api.call("GET", path)
  const list = await api.call("GET", "/v2/listeners")
  const foreign = await api.callAsOther("GET", path)
  const deleted = await api.call("DELETE", path)

  assert.equal(made.status, 201, made.text)
  assert.deepEqual([made.body.version, made.body.compute_config], [null, { k8s_namespaces: ["agents"] }])
  assert.equal(changed.status, 200)
  assert.deepEqual([changed.body.version, changed.body.compute_config], ["1.2", made.body.compute_config])
  assert.deepEqual(read.body, changed.body)
  assert.deepEqual(list.body, { resources: [read.body], offset: 1 })
  assert.equal(foreign.body.detail, `Listener ID ${made.body.id} not found.`)
  assert.deepEqual([deleted.status, (await api.call("GET", path)).status], [204, 404])

  const replies = await Promise.all([1, 2, 3].map(() => api.call("POST", "/v2/listeners", { body: body("twice") })))
  const other = await api.callAsOther("POST", "/v2/listeners", { body: body("twice") })

  const winner = replies.find(({ status }) => status === 201)
  const refused = replies.filter(({ status }) => status === 409)
  assert.equal(refused.length, 2)
  for (const reply of refused) assert.equal(reply.body.conflicting_id, winner?.body.id)
  assert.equal(other.status, 201)
})

test("a deployment names a listener of its workspace; any other is 422, and so is a canary there (L2)", async () => {
  const { body: own } = await api.call("POST", "/v2/listeners", { body: body("own") })
  const { body: foreign } = await api.callAsOther("POST", "/v2/listeners", { body: body("foreign") })
  const deploy = (listener_id: string, more: object = {}) =>
    api.call("POST", "/v2/deployments", { body: exampleDeployment("remote", { listener_id, ...more }) })

  const unknown = await deploy(foreign.id)
  const canary = await deploy(own.id, { canary_weight: 10 })
  const made = await deploy(own.id)

  assert.deepEqual([unknown.status, canary.status, made.status], [422, 422, 201])
  assert.equal(made.body.source_config.listener_id, own.id)
})
