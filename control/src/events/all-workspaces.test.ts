/** Operators get the events of all workspaces, and nobody else does. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { listen } from "@superstep/toolkit/http/listen"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { startReceiver } from "@superstep/toolkit/webhooks/testing/receiver"
import { exampleDeployment, startApi, type TestApi } from "../testing/api.js"
import { createDeliveryLoop } from "../webhooks/delivery-loop.js"
import { openEvents } from "./testing/event-source.js"

const operator = (api: TestApi) => ({ "x-api-key": api.orgKey, "x-tenant-id": api.workspaceId })

/** A deployment in each of the two workspaces. */
async function inBoth(api: TestApi): Promise<readonly [own: string, others: string]> {
  const own = await api.call("POST", "/v2/deployments", { body: exampleDeployment("own") })
  const others = await api.callAsOther("POST", "/v2/deployments", { body: exampleDeployment("others") })
  return [own.body.id, others.body.id]
}

const deploymentsOf = (events: readonly { deployment_id: string | null }[]) =>
  [...new Set(events.map((event) => event.deployment_id))].filter((id) => id !== null)

test("a workspace lists the events of all its deployments, an operator those of all workspaces", async () => {
  await using api = await startApi()
  const [own, others] = await inBoth(api)

  const ownEvents = await api.call("GET", "/v2/events?order=asc&limit=100")
  const all = await api.call("GET", "/v2/events?order=asc&limit=100&all_workspaces=true", { headers: operator(api) })
  const refused = await api.call("GET", "/v2/events?all_workspaces=true")

  assert.deepEqual(deploymentsOf(ownEvents.body.resources), [own])
  assert.deepEqual(deploymentsOf(all.body.resources), [own, others])
  const workspaces = new Set(all.body.resources.map((it: { workspace_id: string }) => it.workspace_id))
  assert.deepEqual([...workspaces], [api.workspaceId, api.other.workspaceId])
  assert.deepEqual([refused.status, refused.body.code], [403, "operator_required"])
})

test("an operator follows all workspaces, reconnects and misses nothing, even after a deletion (E3)", async () => {
  const stopping = new AbortController()
  await using api = await startApi({ stopping: stopping.signal })
  const listening = await listen(api.fetch, { host: "127.0.0.1", port: 0 })
  const url = `http://127.0.0.1:${listening.port}/v2/events?all_workspaces=true`
  const first = await openEvents(url, operator(api))
  const [own] = await inBoth(api)
  // After the events of the tests' two keys.
  await until(() => first.events.length === 6, { what: "both events arrived" })
  first.close()
  await api.call("DELETE", `/v2/deployments/${own}`)

  const back = await openEvents(url, { ...operator(api), "last-event-id": first.events.at(-1)?.id ?? "" })
  await until(() => back.events.length === 2, { what: "the deletion arrived" })
  await api.callAsOther("POST", "/v2/deployments", { body: exampleDeployment("more") })
  await until(() => back.events.length === 4, { what: "it goes on" })
  const refused = await fetch(url, { headers: { "x-api-key": api.apiKey, accept: "text/event-stream" } })

  assert.deepEqual(
    [...first.events, ...back.events].map(({ event }) => event),
    [
      ...["key.created", "key.created"],
      ...["deployment.created", "revision.status_changed", "deployment.created", "revision.status_changed"],
      ...["revision.status_changed", "deployment.updated", "deployment.created", "revision.status_changed"],
    ],
  )
  assert.equal(refused.status, 403)
  back.close()
  stopping.abort()
  await listening.close(0)
})

test("an operator's webhook gets events of all workspaces, and other keys cannot see it", async () => {
  await using api = await startApi()
  await using receiver = await startReceiver((reply) => void reply.end())
  const body = { url: receiver.url, event_types: ["deployment.created"], all_workspaces: true }
  const refused = await api.call("POST", "/v2/webhooks", { body })
  const { body: hook } = await api.call("POST", "/v2/webhooks", { body, headers: operator(api) })
  const loop = createDeliveryLoop({
    ...api,
    log: silent,
    rules: { allowsLoopback: true, allowsPrivate: false },
  })
  await loop.start()

  const [own, others] = await inBoth(api)
  await until(() => receiver.calls.length === 2, { what: "both events arrived" })
  await loop.stop()

  const reported = new Set(receiver.calls.map(({ json }) => json.data.deployment_id))
  assert.deepEqual(reported, new Set([own, others]))
  assert.deepEqual([refused.status, refused.body.code, hook.all_workspaces], [403, "operator_required", true])
  const path = `/v2/webhooks/${hook.id}`
  const range = { since: "2020-01-01T00:00:00Z" }
  for (const [method, at] of [
    ["GET", path],
    ["GET", `${path}/deliveries`],
    ["DELETE", path],
  ] as const) {
    assert.equal((await api.call(method, at)).status, 404, `${method} ${at}`)
  }
  assert.equal((await api.call("POST", `${path}/replay`, { body: range })).status, 404)
  assert.deepEqual((await api.call("GET", "/v2/webhooks")).body.resources, [])
  const replayed = await api.call("POST", `${path}/replay`, { body: range, headers: operator(api) })
  assert.deepEqual([replayed.status, replayed.body.deliveries], [202, 2])
  assert.equal((await api.call("DELETE", path, { headers: operator(api) })).status, 204)
})
