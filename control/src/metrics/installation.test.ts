/** The operator's view of the whole installation. */

import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { makeCertificate, withoutOpenssl } from "@superstep/toolkit/testing/certificate"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { exampleDeployment, startApi, type TestApi } from "../testing/api.js"

/** The value of a line, such as `superstep_pipeline_waiting` or `superstep_stage_seconds{stage="build",quantile="1"}`. */
async function read(api: TestApi): Promise<(line: string) => number | undefined> {
  const { status, text } = await api.call("GET", "/metrics", { headers: { "x-api-key": api.orgKey } })
  assert.equal(status, 200, text)
  const values = new Map(text.split("\n").map((line) => [line.slice(0, line.lastIndexOf(" ")), line] as const))
  return (name) => {
    const line = values.get(name)
    return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(" ")))
  }
}

test("metrics and the state of the installation show how long revisions wait, the duration of stages, and how they ended; no key of a workspace sees the state", async () => {
  await using api = await startApi()
  await api.call("POST", "/v2/deployments", { body: exampleDeployment("waits") })
  const { body } = await api.call("POST", "/v2/deployments", { body: exampleDeployment("failed") })
  await api.db.run(sql`update revisions set not_before = now() - interval '3 minutes'`)
  await api.db.run(sql`
    update revisions set stage = null, status = 'BUILD_FAILED', error_code = 'build_oom', finished_at = now(),
      stage_started_at = jsonb_build_object('build', now() - interval '30 seconds')
    where revision_id = ${body.latest_revision_id}`)

  const value = await read(api)

  assert.equal(value("superstep_pipeline_waiting"), 1)
  assert.equal(Math.round((value("superstep_pipeline_oldest_waiting_seconds") ?? 0) / 60), 3)
  assert.equal(value("superstep_pipeline_working"), 0)
  assert.equal(Math.round(value('superstep_stage_seconds{stage="build",quantile="1"}') ?? 0), 30)
  assert.equal(value('superstep_revisions_ended_last_hour{status="BUILD_FAILED",error_code="build_oom"}'), 1)

  const refused = await api.call("GET", "/v2/system")
  const { status, body: state } = await api.call("GET", "/v2/system", {
    headers: { "x-api-key": api.orgKey, "x-tenant-id": api.workspaceId },
  })

  assert.deepEqual([refused.status, refused.body.code], [403, "operator_required"])
  assert.equal(status, 200)
  assert.deepEqual([state.pipeline.waiting, Math.round(state.pipeline.oldest_waiting_seconds / 60)], [1, 3])
  assert.ok(state.disk.free_bytes > 0 && state.database_connections.used >= 1)
  assert.deepEqual([state.certificates, state.backups, state.log_forwarding], [[], null, null])
})

test("metrics show the disk, the database's connections, the pool and the event loop; statements that wait for a connection are counted", async () => {
  await using api = await startApi()

  const value = await read(api)

  const [free = 0, size = 0] = [value("superstep_disk_free_bytes"), value("superstep_disk_size_bytes")]
  assert.ok(free > 0 && size > free)
  const used = value("superstep_database_connections") ?? 0
  const most = value("superstep_database_connections_most") ?? 0
  assert.ok(used >= 1 && most >= used)
  assert.ok((value('superstep_database_pool{state="busy"}') ?? -1) >= 0)
  assert.equal(value('superstep_database_pool{state="waiting"}'), 0)
  assert.ok((value('nodejs_eventloop_lag_seconds{quantile="1"}') ?? -1) >= 0)
  assert.equal(value("superstep_certificate_expires_at_seconds"), undefined, "there is no certificate")

  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  // Two more than the pool has.
  const held = Array.from({ length: 12 }, () => api.db.transaction(() => released))

  const use = api.db.pool()
  release()
  await Promise.all(held)

  assert.ok(use.waiting >= 2, JSON.stringify(use))
  assert.equal(api.db.pool().waiting, 0)
})

test("metrics show how far each edge is behind, and the state of the installation and its health tell an old table", async () => {
  const one = { edge: "http://10.0.0.7:8903", isReady: true, generation: 12, behindMs: 0 }
  const other = { edge: "http://10.0.0.8:8903", isReady: true, generation: 9, behindMs: 90_000 }
  const starting = { edge: "http://10.0.0.9:8903", isReady: false, generation: undefined, behindMs: 1500 }
  await using api = await startApi({ edgeTables: async () => [one, other, starting] })

  const value = await read(api)
  const operator = { "x-api-key": api.orgKey, "x-tenant-id": api.workspaceId }
  const { body } = await api.call("GET", "/v2/system", { headers: operator })
  const health = await api.call("GET", "/health", { headers: {} })

  const of = (name: string) => [7, 8, 9].map((at) => value(`superstep_edge_${name}{edge="http://10.0.0.${at}:8903"}`))
  assert.deepEqual(of("ready"), [1, 1, 0])
  assert.deepEqual(of("table_generation"), [12, 9, undefined])
  assert.deepEqual(of("table_lag_seconds"), [0, 90, 1.5])
  assert.match(body.problems.join(), /1 of 2 edges have used an old table for 1 min/)
  assert.match(health.body.warnings.join(), /1 of 2 edges have used an old table for 1 min/)
})

test("metrics are for an operator's key, also as a bearer's, and for nobody else", async () => {
  await using api = await startApi()
  const ask = async (headers: Record<string, string>) => {
    const reply = await api.fetch(new Request("http://localhost/metrics", { headers }))
    return { status: reply.status, text: await reply.text() }
  }

  // A proxy on this machine need not send forwarding headers.
  const callers = [{ authorization: `Bearer ${api.orgKey}` }, { "x-api-key": api.apiKey }, {}]
  const replies = await Promise.all(callers.map(ask))

  assert.deepEqual(fieldsOf(replies, "status"), [200, 401, 401])
  assert.ok(!replies[0]?.text.includes(api.orgKey))
})

test("certificates that expire soon or cannot be renewed are problems of the installation, and an unreadable file removes no metric", {
  skip: withoutOpenssl(),
}, async () => {
  const folder = temporaryFolder()
  const { certFile } = makeCertificate(folder)
  await using api = await startApi({ place: { folder, certFile } })
  await using other = await startApi({ place: { folder, certFile: join(folder, "none.pem") } })
  const expires = (await read(api))("superstep_certificate_expires_at_seconds")
  const without = await read(other)
  assert.ok(expires !== undefined && expires * 1000 > Date.now())
  assert.equal(without("superstep_certificate_expires_at_seconds"), undefined)
  assert.equal(without("superstep_pipeline_waiting"), 0)
  const { body: deployment } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  await api.db.run(sql`
    insert into host_names (host_name, deployment_id, failure) values ('waits.example', ${deployment.id}, 'no record')`)
  const addValid = (name: string, failure: string | null) =>
    api.db.run(sql`
      insert into host_names (host_name, deployment_id, certificate, certificate_sha256, private_key_sealed, valid_from, valid_until, failure)
      values (${name}, ${deployment.id}, '', '', '', now(), now() + interval '20 days', ${failure})`)
  await addValid("fails.example", "the authority answers 500")
  await addValid("works.example", null)

  const headers = { "x-api-key": api.orgKey, "x-tenant-id": api.workspaceId }
  const { body } = await api.call("GET", "/v2/system", { headers })

  const about = (body.problems as string[]).filter((it) => it.includes("certificate"))
  assert.deepEqual(about, [
    "the certificate of SUPERSTEP_TLS_CERT expires in 1 day: renew it; a new file is used without a restart",
    "the certificate of fails.example could not be renewed, which is tried again: the authority answers 500",
  ])
})
