/**
 * One workspace against the ids of another: every route of the API's own document, asked with a good key by somebody who
 * owns nothing of what it names, answers as if it were not there, and the database is the same afterwards.
 */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { Call } from "@superstep/control/testing/api"
import { pathOf } from "../testing/malformed-requests.js"
import type { Route } from "../testing/openapi-routes.js"
import { dump, type Furnished, furnish, mark } from "./furnished.js"

let it: Furnished
before(async () => {
  it = await furnish()
})
after(() => it[Symbol.asyncDispose]())

/** What a route takes where its schema does not say enough. */
const bodies: Readonly<Record<string, object>> = {
  "PATCH /v2/deployments/{deployment_id}": { display_name: "mine now", secrets: [{ name: "A", value: "1" }] },
  "PATCH /v2/deployments/{deployment_id}/resource-tiers": { compute_tier: "DEDICATED_S" },
  "PATCH /v2/deployments/{deployment_id}/deployment-tier": { deployment_type: "dev" },
  "PATCH /v2/listeners/{listener_id}": { version: "2" },
  "PUT /v2/deployments/{deployment_id}/secrets": { secrets: [{ name: "MODEL_KEY", value: "1" }] },
  "POST /v2/deployments/{deployment_id}/host-names": { name: "agent.example.com" },
  "POST /v2/webhooks/{webhook_id}/replay": { since: "2026-01-01T00:00:00Z" },
}

const queries: Readonly<Record<string, string>> = {
  "GET /v2/deployments/{deployment_id}/revisions/{revision_id}/code-changes": "?since={revision_id}",
  "GET /v2/deployments/{deployment_id}/revisions/{revision_id}/logs": "?type=build",
  "POST /v2/deployments/{deployment_id}/revisions": "?on_conflict=supersede",
}

const nameOf = ({ method, path }: Route) => `${method} ${path}`

const addressOf = (route: Route) => pathOf(`${route.path}${queries[nameOf(route)] ?? ""}`, it.ids)

const callOf = (route: Route): Call =>
  route.body ? { body: bodies[nameOf(route)] ?? { ...route.body.least, value: "mine" } } : {}

/** Those that name something by its id. */
const about = () => it.routes.filter(({ path }) => path.includes("{"))

test("nobody reads or changes anything by the ids of another workspace", async (t) => {
  const earlier = await dump(it.api)
  assert.ok(about().length > 20)

  for (const route of about()) {
    await t.test(nameOf(route), async () => {
      const reply = await it.api.callAsOther(route.method, addressOf(route), callOf(route))

      assert.ok([403, 404].includes(reply.status), `${reply.status} ${reply.text}`)
      assert.equal(reply.text.includes(mark), false, reply.text)
    })
  }
  assert.deepEqual(await dump(it.api), earlier)
})

test("a key has no rights on a workspace that a header names, whatever is asked", async () => {
  const earlier = await dump(it.api)

  for (const route of about()) {
    const headers = { "x-tenant-id": it.api.workspaceId }
    const reply = await it.api.callAsOther(route.method, addressOf(route), { ...callOf(route), headers })
    const nobody = await it.api.call(route.method, addressOf(route), { ...callOf(route), headers: { "x-api-key": "" } })

    assert.deepEqual([reply.status, nobody.status], [403, 401], nameOf(route))
  }
  assert.deepEqual(await dump(it.api), earlier)
})

test("lists show nothing of another workspace", async () => {
  const lists = it.routes.filter(({ method, path }) => method === "GET" && !path.includes("{"))
  assert.ok(lists.length > 4)

  for (const route of lists) {
    const query = route.parameters.map(({ name }) => `${name}=${it.ids[name.replace(/s$/, "")] ?? ""}`).join("&")
    for (const path of [route.path, `${route.path}?${query}`]) {
      const reply = await it.api.callAsOther("GET", path)

      assert.ok(reply.status < 500, `${path}: ${reply.text}`)
      assert.equal(reply.text.includes(mark), false, path)
      // A refusal may repeat the id that was asked for.
      if (reply.status === 200) assert.equal(reply.text.includes(it.ids.deployment_id ?? ""), false, path)
    }
  }
})

test("nothing of another workspace can be named in a body or a query", async () => {
  const earlier = await dump(it.api)
  const { integration_id, listener_id, deployment_id } = it.ids
  const deployment = (source_config: object) => ({
    name: "mine",
    source: "github",
    source_config: { repo_url: "https://github.com/acme/mine", ...source_config },
    source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
  })

  for (const named of [{ integration_id }, { listener_id }]) {
    const reply = await it.api.callAsOther("POST", "/v2/deployments", { body: deployment(named) })
    assert.equal(reply.status, 422, JSON.stringify(named))
  }
  const bulk = await it.api.callAsOther("DELETE", `/v2/deployments?deployment_ids=${deployment_id}`)
  assert.deepEqual([bulk.status, bulk.body.results[0].status], [207, 404])
  const listed = await it.api.callAsOther("GET", `/v2/deployments?deployment_ids=${deployment_id}`)
  assert.deepEqual(listed.body.resources, [])
  assert.deepEqual(await dump(it.api), earlier)
})

test("their owner gets an answer to each of these requests", async () => {
  // What takes things away comes last, the smaller thing before the larger one.
  const order = ({ method, path }: Route) => (method === "DELETE" ? 1000 - path.length : 0)

  for (const route of about().toSorted((a, b) => order(a) - order(b))) {
    if (order(route) > 0 && !route.path.startsWith("/v2/deployments")) continue
    // A stream has no end to wait for.
    if (route.path.endsWith("/stream")) continue
    const { status, text } = await it.api.call(route.method, addressOf(route), callOf(route))

    assert.ok(![401, 403, 404, 405].includes(status) && status < 500, `${nameOf(route)}: ${status} ${text}`)
  }
})
