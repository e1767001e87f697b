/** What is measured while units answer, start again, and fail: the failure of one deployment keeps no other one from being measured. */

import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { unixAddress } from "@superstep/protocol/http/address"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { socketServer } from "@superstep/toolkit/testing/http-server"
import { until } from "@superstep/toolkit/testing/until"
import { reportOf } from "../planner/testing/facts.js"
import { pipelineContext } from "../planner/testing/pipeline-context.js"
import { addUnitRow } from "../planner/testing/unit-row.js"
import { serveWith } from "../revisions/role-queries.js"
import { masterKey } from "../secrets/seal.js"
import { migrations } from "../testing/api.js"
import { deploymentMetrics } from "./operations.js"
import { startSampler } from "./sampler.js"

// The steps of a test may take longer than a minute together.
const hourMs = 3_600_000
const edge = { status: async () => ({ deployments: {} }) }

test("a deployment whose unit cannot be asked is measured without its runs, and any other as ever", async (t) => {
  await using db = await freshDatabase({ migrations })
  const [key, formerKey] = [masterKey(randomBytes(32)), masterKey(randomBytes(32))]
  const closed = await addUnitRow({ db, key: formerKey })
  const open = await addUnitRow({ db, key })
  for (const { deployment_id: deploymentId, revision_id: revisionId } of [closed, open])
    await serveWith(db, { deploymentId, revisionId })
  await db.run(sql`update units set connections = 1`)
  using unit = await socketServer((_, response) => response.end('{"pending":1,"running":2}'))
  const machine = { units: { usage: async () => new Map(), address: () => unixAddress(unit.socketPath) } }

  const context = pipelineContext({ db, key, machine, edge })
  const sampler = startSampler(context, { reportOf: () => undefined, runTotals: new Map() })
  t.after(() => sampler.stop())
  const samples = await until(
    async () => {
      const rows = await db.rows<{ deployment_id: string }>(
        sql`select deployment_id, replicas, pending_runs, active_runs from traffic_samples`,
      )
      return rows.length > 0 && rows
    },
    { what: "the first sample" },
  )

  const of = ({ deployment_id }: { deployment_id: string }) =>
    samples.find((sample) => sample.deployment_id === deployment_id)
  const unasked = { deployment_id: closed.deployment_id, replicas: 1, pending_runs: null, active_runs: null }
  assert.deepEqual(of(closed), unasked)
  assert.deepEqual(of(open), { ...unasked, deployment_id: open.deployment_id, pending_runs: 1, active_runs: 2 })
})

test("what models used is sampled by what a unit reports, which starts from zero when the unit does (S7)", async (t) => {
  await using db = await freshDatabase({ migrations })
  const key = masterKey(randomBytes(32))
  const [traced, untraced] = [await addUnitRow({ db, key }), await addUnitRow({ db, key })]
  await db.run(sql`update units set connections = 1`)
  const usage = { key: "1", cpuSeconds: 1, rssBytes: 1 }
  const used = (input_tokens: number, output_tokens: number, first_token = { sum_ms: 0, counts: [0] }) => ({
    [traced.unit_id]: { input_tokens, output_tokens, first_token },
    [untraced.unit_id]: null,
  })
  let reports: ReturnType<typeof used> = used(1000, 100)
  const machine = { units: { usage: async (ids: string[]) => new Map(ids.map((id) => [id, [usage]])) } }
  const sampler = startSampler(pipelineContext({ db, key, machine, edge }), {
    reportOf: (id) => (id in reports ? reportOf({ model_use: reports[id] ?? null }) : undefined),
    runTotals: new Map(),
  })
  t.after(() => sampler.stop())
  const samples = async () => (await db.rows(sql`select distinct at from traffic_samples`)).length
  const sampled = (count: number) => until(async () => (await samples()) >= count, { what: `sample ${count}` })
  const next = async (report: typeof reports) => {
    const before = await samples()
    reports = report
    sampler.wake()
    await sampled(before + 1)
  }

  await sampled(1)
  await next(used(1500, 120, { sum_ms: 900, counts: [0, 0, 0, 0, 0, 0, 1] }))
  await next({})
  await next(used(1600, 130, { sum_ms: 900, counts: [0, 0, 0, 0, 0, 0, 1] }))
  await next(used(7, 3, { sum_ms: 40, counts: [1] }))
  const { total, points } = await deploymentMetrics(db, traced.deployment_id, hourMs)

  assert.deepEqual(total.tokens, { input: 607, output: 33 })
  assert.deepEqual(total.first_token_ms, { average: 470, p50: 50, p95: 1000 })
  const sum = points.reduce((all, { tokens }) => all + (tokens?.input ?? 0), 0)
  assert.equal(sum, 607)
  const other = await deploymentMetrics(db, untraced.deployment_id, hourMs)
  assert.deepEqual([other.total.tokens, other.total.first_token_ms.p50], [null, null])
})
