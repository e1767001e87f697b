/** Deployments that belong to an agent: one for each of its environments. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { exampleDeployment, shared, startApi } from "../testing/api.js"

const api = shared(() => startApi())

test("an agent's environment has one deployment, whose name is optional", async () => {
  const { name: _, ...nameless } = exampleDeployment()
  const agent = { agent_id: "7F3A_x", agent_environment: "staging" }

  const one = await api.call("POST", "/v2/deployments", { body: { ...nameless, ...agent } })
  const twin = await api.call("POST", "/v2/deployments", { body: { ...exampleDeployment("twin"), ...agent } })
  const half = await api.call("POST", "/v2/deployments", { body: { ...nameless, agent_id: "x" } })
  const found = await api.call("GET", "/v2/deployments?agent_id=7F3A_x&agent_environment=staging")
  const other = await api.call("GET", "/v2/deployments?agent_id=7F3A_x&agent_environment=production")

  assert.equal(one.status, 201, one.text)
  assert.deepEqual([one.body.name, one.body.agent_environment], ["agent-7f3a-x-510e5562-staging", "staging"])
  assert.deepEqual([twin.status, twin.body.code, twin.body.conflicting_id], [409, "agent_taken", one.body.id])
  assert.equal(half.status, 422)
  assert.deepEqual([found.body.resources.length, other.body.resources.length], [1, 0])
})

test("both spellings of an agent name the same one, and they must not contradict each other", async () => {
  const { name: _, ...nameless } = exampleDeployment()
  const create = (agent: object) => api.call("POST", "/v2/deployments", { body: { ...nameless, ...agent } })
  const id = "c0ffee00-1111-4222-8333-444455556666"

  const one = await create({ agent: { agent_id: id, environment: "production" } })
  const again = await create({ agent_id: id, agent_environment: "production" })
  const both = await create({
    agent: { agent_id: id, environment: "staging" },
    agent_id: id,
    agent_environment: "staging",
  })
  const differs = await create({
    agent: { agent_id: id, environment: "staging" },
    agent_id: "other",
    agent_environment: "staging",
  })
  const half = await create({ agent: { agent_id: id } })
  const wrong = await create({ agent: { agent_id: id, environment: "night" } })
  const found = await api.call("GET", `/v2/deployments?agent_id=${id}`)

  assert.equal(one.status, 201, one.text)
  assert.deepEqual([one.body.name, one.body.agent_id], [`agent-${id}-production`, id])
  assert.equal(one.headers.get("x-ignored-fields"), null)
  assert.deepEqual([again.status, again.body.conflicting_id], [409, one.body.id])
  assert.equal(both.status, 201)
  assert.deepEqual([differs.status, differs.body.detail[0].loc], [422, ["body", "agent"]])
  assert.deepEqual([half.status, half.body.detail[0].loc], [422, ["body", "agent", "environment"]])
  assert.deepEqual([wrong.status, wrong.body.detail[0].loc], [422, ["body", "agent", "environment"]])
  assert.equal(found.body.resources.length, 2)
})

test("agents with similar ids get different names", async () => {
  const { name: _, ...nameless } = exampleDeployment()
  const names = new Set<string>()
  const ids = [
    "Sales Bot",
    "sales bot",
    "sales-bot",
    "sales--bot",
    "-sales-bot",
    "ü",
    "!",
    "a".repeat(60),
    `${"a".repeat(60)}b`,
  ]

  for (const agent_id of ids) {
    const agent = { agent_id, environment: "development" }
    const reply = await api.call("POST", "/v2/deployments", { body: { ...nameless, agent } })
    assert.equal(reply.status, 201, `${agent_id}: ${reply.text}`)
    assert.match(reply.body.name, /^[a-z]([a-z0-9-]{0,61}[a-z0-9])$/)
    names.add(reply.body.name)
  }

  assert.equal(names.size, ids.length)
})
