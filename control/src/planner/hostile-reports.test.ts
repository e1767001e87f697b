/**
 * Code of a deployment can make its unit answer anything. What passes the schemas of replies (machines/src/unit-client/unit-replies.ts) must be stored by
 * the database without an error, whatever it says.
 */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import {
  InvalidReply,
  parseIdle,
  parseOrphans,
  parsePins,
  parseStatus,
  type UnitReport,
} from "@superstep/machines/unit-client/unit-replies"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { appendLogLines } from "../logs/operations.js"
import { modelsSince, noModels, sumOfModels } from "../metrics/model-sample.js"
import { insertSamples, trafficOf } from "../metrics/queries.js"
import { byRevision, noRuns, type RunTally, runsSince } from "../metrics/run-sample.js"
import { nothing } from "../metrics/sample.js"
import { modelsIn } from "../metrics/sampler.js"
import { recordOrphans } from "../revisions/queries.js"
import { recordPinnedThreads } from "../revisions/role-queries.js"
import { fallAsleep } from "../revisions/sleep-queries.js"
import { masterKey } from "../secrets/seal.js"
import { migrations } from "../testing/api.js"
import { recordOutcomes } from "./crash-queries.js"
import { failsMoreOften } from "./failure-rates.js"
import { unitById } from "./queries.js"
import { reportOf } from "./testing/facts.js"
import { addUnitRow } from "./testing/unit-row.js"
import { storeReport } from "./unit-report.js"

const status = {
  ...reportOf({ load: { free_slots: 1, waiting_ms: 5, loop_utilization: 0.5 } }),
  traffic: [{ revision_id: "r", weight: null }],
  failed: [{ graph_id: "chat", message: "no such file" }],
  run_latency: { sum_ms: 10, counts: [1, 2, 3] },
  model_use: { input_tokens: 7, output_tokens: 8, first_token: { sum_ms: 10, counts: [1, 2, 3] } },
  worker_crashes: { count: 1, last: "exit code 3" },
  cross_origin: {
    origins: ["https://a.example"],
    methods: ["GET"],
    headers: [],
    exposed: [],
    credentials: false,
    max_age_seconds: 5,
  },
}
const idle = { is_idle: true, next_due_ms: 5 }
const pins = { threads: 1, has_runs: false, traffic: status.traffic }
const orphans = { checked: 2, orphaned: 1, examples: [{ thread_id: "t", reason: "gone" }], is_complete: true }

// As text of JSON: some have no value in JavaScript.
const hostile = [
  ...["1.5", "-1", "1e300", "1e400", "-1e400", "2147483648", "9007199254740993", "-0", "5e-324", "0.0", "1e15"],
  ...[
    String.raw`"\u0000"`,
    String.raw`"\ud800"`,
    String.raw`"a\udc00\u0000b"`,
    `"${"x".repeat(9999)}😀"`,
    '""',
    '"__proto__"',
  ],
  ...["null", "true", "[]", "{}", "[[]]", `${"[".repeat(5000)}${"]".repeat(5000)}`],
  ...['{"__proto__": {"ready": true}}', '{"constructor": null, "toString": 1}'],
]

/** The JSON of a value of which some parts, one in so many, are replaced. */
function mutated(value: unknown, upTo: (below: number) => number, oneIn = 8): string {
  if (upTo(oneIn) === 0) return hostile[upTo(hostile.length)] ?? "null"
  if (Array.isArray(value)) return `[${value.map((item) => mutated(item, upTo, oneIn)).join()}]`
  if (value === null || typeof value !== "object") return JSON.stringify(value ?? null)
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  const added = upTo(3) === 0 ? ['"__proto__":{"ready":1}', String.raw`"\u0000":"\u0000"`] : []
  return `{${[...fields.map(([key, field]) => `${JSON.stringify(key)}:${mutated(field, upTo, oneIn)}`), ...added].join()}}`
}

test("whatever a unit answers is stored without an error, or counts as no answer", async () => {
  await using db = await freshDatabase({ migrations })
  let unit = await addUnitRow({ db, key: masterKey(randomBytes(32)) })
  const { unit_id, revision_id, deployment_id } = unit
  await db.run(sql`update revisions set stage = null, status = 'DEPLOYED'`)
  const passed = { status: 0, idle: 0, pins: 0, orphans: 0 }
  const parsed = <Reply>(name: keyof typeof passed, parse: (text: string) => Reply, text: string) => {
    try {
      const reply = parse(text)
      passed[name]++
      return reply
    } catch (error) {
      assert.ok(error instanceof InvalidReply, `${error}`)
      return undefined
    }
  }
  let before: RunTally = noRuns
  let modelsBefore = noModels
  const store = async (report: UnitReport) => {
    await storeReport({ db, log: silent }, unit, report)
    await recordOutcomes(db, unit_id, report.runs)
    const { sum_ms = 0, counts = [] } = report.run_latency ?? {}
    const now = { ...report.runs, latency_ms: sum_ms, latency_counts: counts }
    const runs = byRevision([{ deployment_id, revision_id, ...runsSince(before, now) }])
    before = now
    unit = (await unitById(db, unit_id)) ?? unit
    const restarts = unit.crashes + unit.worker_crashes
    const units = [{ deployment_id, revision_id, unit_id, cpu_cores: 0, rss_bytes: 0, restarts }]
    const reported = modelsIn(report) ?? noModels
    // Many units may lie.
    const models = sumOfModels(Array.from({ length: 1000 }, () => modelsSince(modelsBefore, reported)))
    modelsBefore = reported
    const state = { deployment_id, replicas: 1, pending_runs: null, active_runs: null }
    await insertSamples(db, { units, traffic: [{ ...state, ...nothing, models }], runs })
    assert.deepEqual((await trafficOf(db, deployment_id, 60_000))[0]?.models, models)
    await db.run(sql`delete from run_samples`)
    await db.run(sql`delete from traffic_samples`)
    await db.run(sql`delete from unit_samples`)
    const other = { ended: unit.runs_ended, failed: unit.runs_failed }
    failsMoreOften(report.runs, other, 1)
    failsMoreOften(other, report.runs, 1)
  }

  for (let seed = 1; seed <= 200; seed++) {
    const { below: upTo } = seededRandom(seed)
    const report = parsed("status", parseStatus, mutated(status, upTo, 40))
    if (report) await store(report)
    const idleReport = parsed("idle", parseIdle, mutated(idle, upTo))
    if (idleReport) {
      await fallAsleep(db, deployment_id, idleReport.next_due_ms ?? undefined)
      await db.run(sql`delete from sleeps`)
    }
    const pinned = parsed("pins", parsePins, mutated(pins, upTo))
    if (pinned) await recordPinnedThreads(db, revision_id, pinned.threads)
    const orphaned = parsed("orphans", parseOrphans, mutated(orphans, upTo))
    if (!orphaned) continue
    await recordOrphans(db, revision_id, orphaned.orphaned)
    await appendLogLines(
      db,
      revision_id,
      "deploy",
      orphaned.examples.map(({ thread_id, reason }) => `${thread_id} (${reason})`),
    )
  }

  for (const [name, times] of Object.entries(passed)) assert.ok(times > 30 && times < 180, `${name}: ${times} passed`)
})

test("of a report that is wrong everywhere the first problem is told with its path", () => {
  const long = Array.from({ length: 20_000 }, () => 1)
  const reason = (change: object) => reasonOf(() => parseStatus(JSON.stringify({ ...status, ...change })))

  for (const field of ["graphs", "failed", "traffic"])
    assert.equal(reason({ [field]: long }), `the unit's reply is invalid: ${field} must NOT have more than 2000 items`)
  assert.equal(reason({ pid: "1", ready: 1, more: long }), "the unit's reply is invalid: pid must be integer")
  assert.equal(
    reason({ worker_crashes: { count: 1_000_001, last: null } }),
    "the unit's reply is invalid: worker_crashes count must be <= 1000000",
  )
})

function reasonOf(act: () => unknown): string {
  try {
    return String(act())
  } catch (error) {
    assert.ok(error instanceof InvalidReply, `${error}`)
    return error.message
  }
}
