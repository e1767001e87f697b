/** What a listener and its control plane send to each other: who copies configs, and what comes of messages that are wrong. */

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { homeHeader, versionHeader } from "@superstep/protocol/listener/calls"
import { Secret } from "@superstep/toolkit/config/settings"
import { sql } from "@superstep/toolkit/db/sql"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { healths, runStates } from "../health/health.js"
import { logLevels, logStreams } from "../logs/log-line.js"
import { namesWhere } from "../revisions/field.js"
import { revisionStatuses, stages } from "../revisions/revision.js"
import {
  deploymentTypes,
  orphanRules,
  sourceConfigFields,
  sources,
  threadPinnings,
} from "../revisions/source-config.js"
import { sourceRevisionConfigFields } from "../revisions/source-revision-config.js"
import { callsTo } from "./mirror/central.js"
import {
  deployTo,
  readyState,
  reportedRevision,
  type TwoInstallations,
  twoInstallations,
} from "./testing/two-installations.js"

const { $defs } = JSON.parse(
  readFileSync(new URL("../../../protocol/listener/exchange.schema.json", import.meta.url), "utf8"),
)

/** As the installation sends it, but with whatever body. */
async function send({ url, token }: TwoInstallations, path: string, body: unknown) {
  const reply = await fetch(`${url}/internal/listener/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, [homeHeader]: "home-1", [versionHeader]: "1.2.3" },
    body: JSON.stringify(body),
  })
  return { status: reply.status, text: await reply.text() }
}

const allWork = { known: {}, known_callers: "", wait_ms: 0 }

test("a listener has the fields and values that the tables of the control plane give it, and no others", () => {
  const there = (fields: Parameters<typeof namesWhere>[0]) =>
    namesWhere(fields, ({ listener }) => listener === "same" || listener === "given")
  const fieldsOf = (name: string) => Object.keys($defs[name].properties)
  const valuesOf = (name: string, field: string) => $defs[name].properties[field].enum.filter(Boolean)

  assert.deepEqual(fieldsOf("WantedSourceConfig"), there(sourceConfigFields))
  assert.deepEqual(fieldsOf("WantedSourceRevisionConfig"), there(sourceRevisionConfigFields))
  assert.deepEqual($defs.Source.enum, sources)
  assert.deepEqual($defs.Stage.enum, stages)
  assert.deepEqual(fieldsOf("StageTimes"), stages)
  assert.deepEqual(valuesOf("WantedSourceConfig", "deployment_type"), deploymentTypes)
  assert.deepEqual(valuesOf("WantedSourceConfig", "thread_pinning"), threadPinnings)
  assert.deepEqual(valuesOf("WantedSourceConfig", "on_orphaned_threads"), orphanRules)
  assert.deepEqual(valuesOf("ReportedRevision", "status"), revisionStatuses)
  assert.deepEqual(valuesOf("DeploymentState", "health"), healths)
  assert.deepEqual(valuesOf("DeploymentState", "run_state"), runStates)
  assert.deepEqual(valuesOf("ReportedLine", "stream"), logStreams)
  assert.deepEqual(valuesOf("ReportedLine", "level"), logLevels)
})

test("the control plane copies all configs for a listener, those of the deployment as those of its revisions (L5)", async () => {
  await using two = await twoInstallations()
  const made = await deployTo(two.central, two.listenerId, "far", { build_on_push: true, max_pin_age_days: 3 })

  const { status, text } = await send(two, "work", allWork)
  await two.follow().work.next()
  const [wanted] = JSON.parse(text).changed
  const [revision] = wanted.revisions
  const stored = await two.remote.db.rows<{ source_config: Record<string, unknown> }>(sql`
    select source_config from deployments where deployment_id = ${made.id}
    union all select source_config from revisions where deployment_id = ${made.id}`)

  assert.equal(status, 200, text)
  for (const it of [wanted, revision]) {
    assert.deepEqual([it.source_config.listener_id, it.source_config.build_on_push], [null, false])
    assert.equal(it.source_config.max_pin_age_days, 3)
    assert.deepEqual(it.source_revision_config, wanted.source_revision_config)
  }
  assert.equal(stored.length, 2)
  for (const { source_config: config } of stored)
    assert.deepEqual([config.listener_id, config.build_on_push, config.max_pin_age_days], [null, null, 3])
})

test("a message that is invalid is refused with the path of its field, and nothing of it is stored", async () => {
  await using two = await twoInstallations()
  const made = await deployTo(two.central, two.listenerId, "far")
  const report = { deployment_id: made.id, after: 0, state: readyState, lines: [] }
  const line = { log_line_id: 1, revision_id: made.latest_revision_id, stream: "build", time: "2026-02-30T00:00:00Z" }

  const replies = [
    await send(two, "work", { ...allWork, wait_ms: "soon" }),
    await send(two, "work", { ...allWork, known: { x: "1" } }),
    await send(two, "reports", { ...report, state: { ...readyState, health: "fine" } }),
    await send(two, "reports", { ...report, state: { ...readyState, problem: "\u0000" } }),
    await send(two, "reports", { ...report, lines: [{ ...line, level: "INFO", message: "x", run_id: null }] }),
    await send(two, "reports", { ...report, lines: Array(1001).fill({}) }),
    await send(two, "reports", "report"),
  ]
  const tooLarge = await send(two, "reports", { ...report, more: "x".repeat(1_100_000) })

  const paths = ["wait_ms", "known", "state.health", "state.problem", "lines.0.time", "lines", ""]
  for (const [n, { status, text }] of replies.entries()) {
    const { detail } = JSON.parse(text)
    assert.deepEqual([status, detail[0].loc.slice(1).join(".")], [422, paths[n]], text)
    assert.ok(text.length < 1000, text)
  }
  assert.equal(tooLarge.status, 413)
  assert.deepEqual(await two.central.db.rows(sql`select from listener_reports`), [])
})

test("fields of another release are dropped from a report before it is stored", async () => {
  await using two = await twoInstallations()
  const made = await deployTo(two.central, two.listenerId, "far")
  const { reports, work } = two.follow()
  await work.next()
  await reports.send()
  const revision = {
    ...reportedRevision(made.latest_revision_id, "BUILDING", "build"),
    stage_started_at: { build: "2026-11-29T12:00:00Z", later: "\u0000" },
    later: "\u0000",
  }
  const state = { ...readyState, revisions: [revision] }

  const reply = await send(two, "reports", { deployment_id: made.id, after: 1, state, lines: [] })
  const row = await two.central.db.row<{ stage_started_at: object }>(sql`
    select stage_started_at from revisions where revision_id = ${made.latest_revision_id}`)

  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(Object.keys(row?.stage_started_at ?? {}), ["build"])
})

test("a reply that is none of a control plane is told with what is wrong", async () => {
  let body = ""
  await using server = await portServer((_, response) => response.end(body))
  const caller = { homeId: "home-1", version: "1.2.3" }
  const calls = callsTo({ url: server.origin, token: new Secret("ssl_x") }, caller, new AbortController().signal)
  const reply = { workspace_id: "0192f0c1-2a3b-7c4d-8e5f-001122334455", callers: null, assigned: [1], changed: [] }

  for (const [sent, words] of [
    ["<html>", /is not JSON: check SUPERSTEP_LISTENER_URL/],
    ['{"workspace_id": 1}', /cannot read: .*Run the same release on both sides/],
    [JSON.stringify(reply), /cannot read: assigned\.0 must be string/],
  ] as const) {
    body = sent
    await assert.rejects(calls.work(allWork), words)
  }
})
