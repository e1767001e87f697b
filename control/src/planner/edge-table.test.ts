import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import type { Table } from "@superstep/edge/table"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { serveWith } from "../revisions/role-queries.js"
import { masterKey } from "../secrets/seal.js"
import { migrations } from "../testing/api.js"
import type { PipelineContext } from "./context.js"
import { syncEdge } from "./edge-table.js"
import { addUnitRow } from "./testing/unit-row.js"

test("a table serves many calls at once, and a unit whose token cannot be opened is missing from it alone", async () => {
  await using db = await freshDatabase({ migrations })
  const [key, formerKey] = [masterKey(randomBytes(32)), masterKey(randomBytes(32))]
  const good = await addUnitRow({ db, key })
  const sealedBefore = await addUnitRow({ db, key: formerKey })
  for (const { deployment_id: deploymentId, revision_id: revisionId } of [good, sealedBefore])
    await serveWith(db, { deploymentId, revisionId })
  const pushed: Table[] = []
  const context = {
    db,
    key,
    log: silent,
    consoleOrigins: [],
    limits: { requestsPerSecond: 0 },
    crashPoint: () => undefined,
    machine: { units: { address: (unitId: string) => `unix:/${unitId}` } },
    edge: {
      status: async () => ({ generation: pushed.at(-1)?.generation ?? 0, units: {}, deployments: {} }),
      push: async (table: Table) => void pushed.push(table),
    },
  } as unknown as PipelineContext

  const first = syncEdge(context)
  await db.run(sql`update units set is_ready = false where unit_id = ${good.unit_id}`)
  await Promise.all([first, ...Array.from({ length: 50 }, () => syncEdge(context))])

  const unitsOf = (table: Table | undefined) =>
    Object.fromEntries(
      (table?.routes ?? []).map(({ deployment_id, units, state }) => [deployment_id, [units.length, state]]),
    )
  assert.ok(pushed.length <= 2, `${pushed.length} pushes`)
  assert.deepEqual(unitsOf(pushed.at(-1)), {
    [good.deployment_id]: [0, "held"],
    [sealedBefore.deployment_id]: [0, "held"],
  })
  await db.run(sql`update units set is_ready = true`)
  await syncEdge(context)
  assert.deepEqual(unitsOf(pushed.at(-1)), {
    [good.deployment_id]: [1, "serving"],
    [sealedBefore.deployment_id]: [0, "held"],
  })
})
