/** The order in which a unit is ended, with everything around the pipeline written down instead of done. */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import type { PipelineContext } from "../context.js"
import type { Table } from "../edge/table.js"
import type { UnitStatus } from "../machines/port.js"
import { addDeployment, addRevision } from "../revisions/testing/rows.js"
import { masterKey } from "../secrets/seal.js"
import { migrations } from "../testing/api.js"
import { executeOnUnit } from "./execute.js"
import type { UnitFacts } from "./facts.js"
import { allUnits } from "./queries.js"
import { serveWith, switchBack } from "./role-queries.js"
import { ensureUnits } from "./unit.js"

/** A deployment whose edge and machine write down what is done. */
async function setUp(db: Database, status: UnitStatus) {
  const deploymentId = await addDeployment(db)
  const done: string[] = []
  const context = {
    db,
    log: silent,
    key: masterKey(randomBytes(32)),
    consoleOrigins: [],
    limits: { connections: 100, watchMs: 60_000, stopGraceMs: 30_000, requestsPerSecond: 0 },
    crashPoint: () => undefined,
    edge: {
      status: async () => ({ generation: 0, units: {}, deployments: {} }),
      push: async (table: Table) => {
        const sendsTo = table.routes.flatMap(({ units }) => units.map(({ unit_id }) => unit_id))
        done.push(sendsTo.length > 0 ? `the edge sends to ${sendsTo}` : `the edge: ${table.routes[0]?.state}`)
      },
    },
    machine: {
      units: {
        status: async () => status,
        address: (unitId: string) => `unix:/${unitId}`,
        logs: async (_: string, from: string) => ({ lines: [], next: from }),
        stop: async () => void done.push("stopped"),
        remove: async () => void done.push("removed"),
      },
    },
  } as unknown as PipelineContext
  const serve = async () => {
    const revision_id = await addRevision(db, deploymentId, { status: "DEPLOYING", stage: "deploy" })
    const [unit] = await ensureUnits(context, { revision_id, deployment_id: deploymentId, source_config: {} as never })
    await serveWith(db, { deploymentId, revisionId: revision_id })
    await db.run(sql`update revisions set stage = null where revision_id = ${revision_id}`)
    return { revision_id, unit_id: unit?.unit_id }
  }
  const rowOf = async (unitId: string | undefined) => {
    const unit = (await allUnits(db)).find(({ unit_id }) => unit_id === unitId)
    assert.ok(unit)
    return unit as UnitFacts
  }
  return { deploymentId, context, done, serve, rowOf }
}

test("a unit that is rolled back is stopped after the edge has stopped sending to it", async () => {
  await using db = await freshDatabase({ migrations })
  const { deploymentId, context, done, serve, rowOf } = await setUp(db, { state: "running" })
  const before = await serve()
  const failed = await serve()

  await db.transaction((tx) => switchBack(tx, { deploymentId, failed: failed.revision_id, drainMs: 60_000 }))
  await executeOnUnit.remove(context, await rowOf(failed.unit_id))

  assert.deepEqual(done, [`the edge sends to ${before.unit_id}`, "stopped", "removed"])
})

test("a unit that somebody else has ended did not crash: requests wait for its next start", async () => {
  await using db = await freshDatabase({ migrations })
  const { context, done, serve, rowOf } = await setUp(db, { state: "exited", wasTaken: true })
  const { unit_id } = await serve()

  await executeOnUnit["record crash"](context, await rowOf(unit_id))

  const { crashes, is_ready, is_down } = await rowOf(unit_id)
  assert.deepEqual({ crashes, is_ready, is_down }, { crashes: 0, is_ready: false, is_down: true })
  assert.deepEqual(done, ["the edge: held"])
})

test("a unit that has exited by itself has crashed, and requests for it are refused at once", async () => {
  await using db = await freshDatabase({ migrations })
  const { context, done, serve, rowOf } = await setUp(db, { state: "exited" })
  const { unit_id } = await serve()

  await executeOnUnit["record crash"](context, await rowOf(unit_id))

  const { crashes, is_ready, is_down } = await rowOf(unit_id)
  assert.deepEqual({ crashes, is_ready, is_down }, { crashes: 1, is_ready: true, is_down: true })
  assert.deepEqual(done, [])
})
