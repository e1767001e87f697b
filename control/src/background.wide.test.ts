/** Events, webhooks and metrics of a real control plane with a real edge, over a kill. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { type ReceivedCall, startReceiver } from "@superstep/toolkit/webhooks/testing/receiver"
import { openEvents } from "./events/testing/event-source.js"
import { deploymentOf, smallProject, testPlatform } from "./pipeline/testing/platform.js"
import { bareRepository } from "./sources/testing/bare-repository.js"
import { shared } from "./testing/api.js"
import { createApiKey } from "./workspaces/operations.js"

const platform = shared(() => testPlatform())
let deploymentId: string
let revisionId: string

const eventsPath = () => `/v2/deployments/${deploymentId}/events`
const eventIdsOf = (calls: readonly ReceivedCall[]) => new Set(calls.map(({ json }) => json.data.id as string))

test("a kill -9 between an event and its delivery loses no event, for webhooks and followers", async () => {
  // It does not answer during the first life of the control plane.
  let isAnswering = false
  await using receiver = await startReceiver((reply) => void (isAnswering && reply.end()))
  await platform.start()
  const { body: hook } = await platform.call("POST", "/v2/webhooks", { url: receiver.url })
  const repository = bareRepository(temporaryFolder())
  repository.commit(smallProject)
  ;({ deploymentId, revisionId } = await platform.deploy(deploymentOf(repository.url)))
  const headers = { "x-api-key": platform.apiKey }
  const first = await openEvents(`${platform.apiUrl}${eventsPath()}`, headers)
  await until(() => receiver.calls.length > 0 && first.events.length > 0, {
    what: "the receiver and the follower got the event",
  })

  await platform.kill()
  await until(() => first.hasEnded, { what: "the follower was cut" })
  isAnswering = true
  await addWhatIsOld()
  await platform.db.run(sql`update webhook_deliveries set next_try_at = now() where state = 'pending'`)
  await platform.start()
  const back = await openEvents(`${platform.apiUrl}${eventsPath()}`, {
    ...headers,
    "last-event-id": first.events.at(-1)?.id ?? "",
  })
  const other = await openEvents(`${platform.apiUrl}${eventsPath()}`, headers)
  await platform.untilEnded(deploymentId, revisionId)
  const listed = (await platform.call("GET", `${eventsPath()}?order=asc&limit=100`)).body.resources
  const idsOf = (events: readonly { data: { id: string } }[]) => events.map(({ data }) => data.id)
  await until(() => other.events.length >= listed.length && eventIdsOf(receiver.calls).size >= listed.length, {
    what: "all got every event",
  })

  const ids = listed.map(({ id }: { id: string }) => id)
  assert.deepEqual(idsOf([...first.events, ...back.events]).slice(0, ids.length), ids)
  assert.deepEqual(idsOf(other.events).slice(0, ids.length), ids)
  assert.ok(ids.every((id: string) => eventIdsOf(receiver.calls).has(id)))
  const statuses = listed.flatMap(({ data, type }: { data: { status: string }; type: string }) =>
    type === "revision.status_changed" ? [data.status] : [],
  )
  assert.deepEqual([statuses[0], statuses.at(-1)], ["CREATING", "DEPLOYED"])
  assert.ok(hook.signing_secret.startsWith("whsec_"))
  back.close()
  other.close()
  await until(async () => (await oldRecords()) === 0, { what: "what is old is forgotten" })
})

const addWhatIsOld = async () => {
  await platform.db.run(sql`
    insert into idempotency_keys (workspace_id, key, request_sha256, created_at)
    select workspace_id, 'old', '', now() - interval '25 hours' from workspaces`)
  await platform.db.run(sql`
    insert into git_deliveries (provider, authority, delivery_id, received_at)
    values ('github', 'installation', 'old', now() - interval '31 days')`)
  await platform.db.run(sql`
    insert into secrets (deployment_id, secrets_version, name, value_sealed) values (${deploymentId}, 99, 'OLD', 'x')`)
  await platform.db.run(sql`
    insert into previews (preview_id, workspace_id, repository, number, title, is_fork, state, expires_at, updated_at)
    select gen_random_uuid(), workspace_id, 'r', 1, 'old', false, state, now(), now() - interval '31 days'
    from workspaces, (values ('closed')) as it (state)`)
  assert.equal(await oldRecords(), 4)
}
const oldRecords = async () => {
  const row = await platform.db.row<{ count: number }>(sql`
    select (select count(*) from idempotency_keys where key = 'old') +
      (select count(*) from git_deliveries where delivery_id = 'old') +
      (select count(*) from previews where title = 'old' and state = 'closed') +
      (select count(*) from secrets where name = 'OLD') as count`)
  return row?.count
}

test("use of units and answers of the edge are measured, charted, and shown to Prometheus", async () => {
  const headers = { "x-api-key": platform.apiKey }
  await until(async () => (await fetch(`${platform.agentsUrl}/d/chat/env`, { headers })).ok, { what: "it answers" })
  await until(async () => (await metrics()).points.length > 0, { what: "the first sample" })

  for (let n = 0; n < 5; n++) await (await fetch(`${platform.agentsUrl}/d/chat/nothing`, { headers })).text()
  const measured = await until(
    async () => {
      const body = await metrics()
      return sum(body.points, "requests") >= 5 && body
    },
    { what: "the requests were counted", timeoutMs: 40_000 },
  )

  const last = measured.points.at(-1)
  assert.deepEqual([measured.window_seconds, last.replicas, last.pending_runs, last.active_runs], [900, 1, 2, 1])
  assert.equal(sum(measured.points, "errors"), 0)
  assert.ok(last.rss_bytes > 10_000_000 && measured.units[0].revision_id === revisionId)
  const { clearKey } = await createApiKey(platform.db, { workspaceId: null, name: "prometheus" })
  const { text, status } = await prometheus({ "x-api-key": clearKey })
  assert.equal(status, 200)
  assert.match(text, new RegExp(`^superstep_edge_requests_total\\{deployment_id="${deploymentId}"\\} \\d+$`, "m"))
  assert.match(text, /^superstep_deployment_replicas\{.*name="chat"\} 1$/m)
  assert.match(text, /^superstep_edge_latency_seconds_bucket\{.*le="\+Inf"\} \d+$/m)
})

const metrics = async () => (await platform.call("GET", `/v2/deployments/${deploymentId}/metrics`)).body

const sum = (points: readonly Record<string, number>[], field: string): number =>
  points.reduce((total, point) => total + (point[field] ?? 0), 0)

async function prometheus(headers: Record<string, string>) {
  const reply = await fetch(`${platform.apiUrl}/metrics`, { headers })
  return { status: reply.status, text: await reply.text() }
}
