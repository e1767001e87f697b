import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import type { RevisionRow } from "../revisions/queries.js"
import { addDeployment, addRevision } from "../revisions/testing/rows.js"
import { migrations } from "../testing/api.js"
import { NoConnections } from "./connections.js"
import { pipelineContext } from "./testing/pipeline-context.js"
import { ensureUnits } from "./unit.js"

/** A database server with so many connections, and a revision that asks for so many units. */
async function setUp(connections: number, minScale: number) {
  const db = await freshDatabase({ migrations })
  const deployment_id = await addDeployment(db)
  const revision_id = await addRevision(db, deployment_id, { status: "DEPLOYING", stage: "deploy" })
  const source_config = { resource_spec: { min_scale: minScale } } as unknown as RevisionRow["source_config"]
  const context = pipelineContext({ db, limits: { connections } })
  const ensure = () => ensureUnits(context, { deployment_id, revision_id, source_config })
  const stored = async () => (await db.rows(sql`select unit_id from units`)).length
  return { db, ensure, stored, [Symbol.asyncDispose]: () => db[Symbol.asyncDispose]() }
}

test("a revision for whose units there is no room leaves no row of any", async () => {
  await using it = await setUp(24, 5)

  await assert.rejects(it.ensure(), NoConnections)

  assert.equal(await it.stored(), 0)
})

test("units that are there need no second room", async () => {
  await using it = await setUp(24, 4)

  const units = await it.ensure()
  await it.db.run(sql`update units set connections = 6`)
  const again = await it.ensure()

  assert.equal(units.length, 4)
  assert.deepEqual(
    fieldsOf(again, "unit_id"),
    units.map(({ unit_id }) => unit_id),
  )
})
