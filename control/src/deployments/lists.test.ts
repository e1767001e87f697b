import assert from "node:assert/strict"
import { before, test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { exampleDeployment, shared, startApi } from "../testing/api.js"

// Reading changes nothing, so these tests share one workspace.
const api = shared(() => startApi())
const ids = new Map<string, string>()
before(async () => {
  for (const name of ["bot", "shop-bot", "chat", "bot-two"]) {
    const { body } = await api.call("POST", "/v2/deployments", { body: exampleDeployment(name) })
    ids.set(name, body.id)
  }
  await api.callAsOther("POST", "/v2/deployments", { body: exampleDeployment("bot-of-others") })
})

const list = (query: string) => api.call("GET", `/v2/deployments?${query}`)

async function names(query: string): Promise<string[]> {
  const reply = await list(query)
  assert.equal(reply.status, 200, `${query}: ${reply.text}`)
  return reply.body.resources.map((deployment: { name: string }) => deployment.name)
}

test("lists are newest first, with an exact name before all, and never contain other workspaces", async () => {
  assert.deepEqual(await names(""), ["bot-two", "chat", "shop-bot", "bot"])
  assert.deepEqual(await names("name_contains=bot"), ["bot", "bot-two", "shop-bot"])
  assert.deepEqual(await names("name_contains=BOT"), ["bot-two", "shop-bot", "bot"])
})

test("filters can be combined, and an empty one counts as absent", async () => {
  const expected: Record<string, string[]> = {
    "name=chat": ["chat"],
    "name=cha": [],
    "name_contains=&name=&status=&limit=&deployment_ids=": ["bot-two", "chat", "shop-bot", "bot"],
    "name_contains=bot&deployment_type=dev": ["bot", "bot-two", "shop-bot"],
    "deployment_type=prod": [],
    "status=AWAITING_DATABASE&name=bot": ["bot"],
    "status=READY": [],
    [`deployment_ids=${ids.get("chat")},${ids.get("bot")}`]: ["chat", "bot"],
    "remote_reconciled=false&name=bot": ["bot"],
    "remote_reconciled=true": [],
    "tag_value_ids=00000000-0000-4000-8000-000000000000": [],
    "image_version=0.2.1": [],
    "name_contains=%25": [],
    "name_contains=_": [],
    "name_contains=%27%3B%20drop%20table%20deployments": [],
  }
  for (const [query, found] of Object.entries(expected)) assert.deepEqual(await names(query), found, query)
})

test("pages contain the next offset, the total and links to their neighbours", async () => {
  const first = await list("limit=3")
  const second = await list(`limit=3&offset=${first.body.offset}`)
  const beyond = await list("limit=3&offset=100")

  assert.equal(first.body.offset, 3)
  assert.equal(first.headers.get("x-total-count"), "4")
  assert.equal(first.headers.get("link"), '</v2/deployments?limit=3&offset=3>; rel="next"')
  assert.deepEqual(fieldsOf(second.body.resources, "name"), ["bot"])
  assert.equal(second.body.offset, 4)
  assert.equal(second.headers.get("link"), '</v2/deployments?limit=3&offset=0>; rel="prev"')
  assert.deepEqual(beyond.body, { resources: [], offset: 100 })
})

test("parameters that are out of range or malformed are 422", async () => {
  const malformed = [
    "limit=0",
    "limit=101",
    "limit=-1",
    "limit=ten",
    "limit=1e1",
    "limit=1&limit=2",
    "offset=-1",
    "offset=99999999999999999999",
    "status=GONE",
    "deployment_type=test",
    "deployment_ids=chat",
    "remote_reconciled=maybe",
    "name_contains=%00",
    "name=a%00",
  ]
  for (const query of malformed) {
    const reply = await list(query)

    assert.equal(reply.status, 422, `${query}: ${reply.status}`)
    assert.equal(reply.body.detail[0].loc[0], "query")
  }
})

test("revisions are paged too", async () => {
  const path = `/v2/deployments/${ids.get("chat")}/revisions`

  const page = await api.call("GET", `${path}?limit=1`)
  const second = await api.call("GET", `${path}?limit=1&offset=1`)
  const tooMany = await api.call("GET", `${path}?limit=101`)
  const creating = await api.call("GET", `${path}?status=CREATING`)
  const deployed = await api.call("GET", `${path}?status=DEPLOYED`)
  const odd = await api.call("GET", `${path}?status=DONE`)

  assert.equal(page.body.offset, 1)
  assert.equal(page.body.resources[0].source_revision_config.repo_ref, "main")
  assert.deepEqual(second.body, { resources: [], offset: 1 })
  assert.equal(tooMany.status, 422)
  assert.deepEqual(
    [creating, deployed].map(({ body }) => body.resources.length),
    [1, 0],
  )
  assert.equal(odd.status, 422)
})
