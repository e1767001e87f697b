import assert from "node:assert/strict"
import { Readable } from "node:stream"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { addDeployment, addRevision } from "../revisions/testing/rows.js"
import { migrations } from "../testing/api.js"
import { executeOnUnit } from "./execute.js"
import type { UnitFacts } from "./facts.js"
import { allUnits } from "./queries.js"
import { reportOf } from "./testing/facts.js"
import { pipelineContext } from "./testing/pipeline-context.js"
import { addUnitRow } from "./testing/unit-row.js"
import { ensureUnits } from "./unit.js"

test("a unit that somebody else has ended has no crash more, and is started again after a pause", async () => {
  await using db = await freshDatabase({ migrations })
  const deploymentId = await addDeployment(db)
  const revision_id = await addRevision(db, deploymentId, { status: "DEPLOYING", stage: "deploy" })
  const units = { logs: async (_: string, from: string) => ({ lines: [], next: from }) }
  const context = pipelineContext({ db, limits: { connections: 100 }, machine: { units } })
  const revision = { revision_id, deployment_id: deploymentId, source_config: {} as never }
  const [unit] = await ensureUnits(context, revision)
  const rowOf = async () => (await allUnits(db)).find(({ unit_id }) => unit_id === unit?.unit_id)

  await executeOnUnit["record disruption"](context, (await rowOf()) as UnitFacts)

  const { crashes, is_down } = (await rowOf()) ?? {}
  assert.deepEqual({ crashes, is_down }, { crashes: 0, is_down: true })
})

/**
 * Does an action on a unit that was seen to be idle, and answers like this now.
 * @param answer  undefined: no answer comes
 */
async function acting(
  action: "suspend" | "remove if idle",
  role: "serving" | "retiring",
  answer: { status: number; body?: object } | undefined,
  { state = "running", isPaused = false, silent = [] as string[] } = {},
) {
  await using db = await freshDatabase({ migrations })
  const done: string[] = []
  const units = {
    address: () => "http://127.0.0.1:1",
    status: async () => ({ state }),
    stop: async () => done.push("stop"),
    remove: async () => done.push("remove"),
    logs: async (_: string, from: string) => ({ lines: [], next: from }),
  }
  const sendToUnit = async () => {
    if (!answer) throw new DOMException("no end within 10000 ms", "TimeoutError")
    return Object.assign(Readable.from([Buffer.from(JSON.stringify(answer.body ?? {}))]), { statusCode: answer.status })
  }
  const context = pipelineContext({
    db,
    limits: { stopGraceMs: 0 },
    machine: { units },
    network: { sendToUnit },
    routing: { publish: async () => undefined },
    edge: { status: async () => ({ units: {}, silent }) },
  })
  const { unit_id, deployment_id } = await addUnitRow(context)
  const by = role === "retiring" ? sql`now() + interval '1 hour'` : sql`null`
  await db.run(sql`update revisions set role = ${role}, retire_by = ${by}`)
  if (isPaused) await db.run(sql`update deployments set desired_run_state = 'paused'`)
  await db.run(sql`insert into sleeps (deployment_id) values (${deployment_id})`)

  await executeOnUnit[action](context, (await allUnits(db)).find((it) => it.unit_id === unit_id) as UnitFacts)

  return done
}

const idle = { status: 200, body: { is_idle: true, next_due_ms: null } }

test("a unit of a deployment that sleeps is stopped when it says that it is idle, not while it says nothing", async () => {
  assert.deepEqual(await acting("suspend", "serving", idle), ["stop"])
  for (const answer of [undefined, { status: 503 }]) assert.deepEqual(await acting("suspend", "serving", answer), [])
  // It has ended meanwhile.
  assert.deepEqual(await acting("suspend", "serving", undefined, { state: "exited" }), ["stop"])
  // Of a former release, which does not support the question.
  assert.deepEqual(await acting("suspend", "serving", { status: 404 }), ["stop"])
})

test("the units of a paused deployment are stopped whatever they do, and whatever is open", async () => {
  assert.deepEqual(await acting("suspend", "serving", undefined, { isPaused: true }), ["stop"])
  assert.deepEqual(await acting("suspend", "serving", undefined, { isPaused: true, silent: ["an edge"] }), ["stop"])
})

test("a unit that retires and was idle goes on while it says nothing", async () => {
  for (const answer of [undefined, { status: 503 }])
    assert.deepEqual(await acting("remove if idle", "retiring", answer), [])
  const status = { status: 200, body: reportOf() }
  assert.deepEqual(await acting("remove if idle", "retiring", status), ["stop", "remove"])
})
