/** Metrics of a real control plane with a real edge. */

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { type PlatformWithRepository, platformWithRepository } from "./pipeline/testing/platform-with-repository.js"
import { createApiKey, createWorkspace } from "./workspaces/operations.js"

let platform: PlatformWithRepository
let deploymentId: string
let revisionId: string
before(async () => {
  platform = await platformWithRepository()
  ;({ deploymentId, revisionId } = await platform.serveRepository())
})
after(() => platform[Symbol.asyncDispose]())

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

test("metrics of the installation require an operator's key, those of a deployment one of its workspace", async () => {
  const { clearKey: orgKey } = await createApiKey(platform.db, { workspaceId: null, name: "prometheus" })
  const { workspace_id: workspaceId } = await createWorkspace(platform.db, "other")
  const { clearKey: otherKey } = await createApiKey(platform.db, { workspaceId, name: "other" })

  const asked = await Promise.all([
    prometheus({ "x-api-key": orgKey }),
    prometheus({ authorization: `Bearer ${orgKey}` }),
    prometheus({ "x-api-key": platform.apiKey }),
    // A proxy on this machine need not send forwarding headers.
    prometheus({}),
  ])
  const foreign = await fetch(`${platform.apiUrl}/v2/deployments/${deploymentId}/metrics`, {
    headers: { "x-api-key": otherKey },
  })
  const malformed = await platform.call("GET", `/v2/deployments/${deploymentId}/metrics?window=soon`)

  assert.deepEqual(fieldsOf(asked, "status"), [200, 200, 401, 401])
  assert.deepEqual([foreign.status, malformed.status], [404, 422])
  assert.equal(asked[0]?.text.includes(orgKey), false)
})

const metrics = async () => (await platform.call("GET", `/v2/deployments/${deploymentId}/metrics`)).body

const sum = (points: readonly Record<string, number>[], field: string): number =>
  points.reduce((total, point) => total + (point[field] ?? 0), 0)

async function prometheus(headers: Record<string, string>) {
  const reply = await fetch(`${platform.apiUrl}/metrics`, { headers })
  return { status: reply.status, text: await reply.text() }
}
