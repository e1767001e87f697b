/** Units that nobody has set a limit for have one all the same. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { v7 as newId } from "uuid"
import { defaultLimits, memoryMbOf, unitLimitsOf } from "../deployments/unit-limits.js"
import { addDeployment, addRevision } from "../revisions/testing/rows.js"
import { migrations } from "../testing/api.js"
import { memoryWatch } from "./memory-watch.js"
import { addUnit, plannedDeployments } from "./queries.js"
import { pipelineContext } from "./testing/pipeline-context.js"

test("a unit without resource_spec that takes the machine's memory is ended, and one within the default is not", async () => {
  await using db = await freshDatabase({ migrations })
  const usedMb = new Map([
    [newId(), defaultLimits.memoryMb + 1],
    [newId(), defaultLimits.memoryMb],
  ])
  for (const unitId of usedMb.keys()) {
    const deploymentId = await addDeployment(db)
    const revisionId = await addRevision(db, deploymentId, { status: "DEPLOYED", stage: null })
    await db.run(sql`update revisions set role = 'serving' where revision_id = ${revisionId}`)
    await addUnit(db, { unitId, deploymentId, revisionId, ordinal: 0, tokenSealed: "x", isReady: true })
  }
  const killed: string[] = []
  const units = {
    memoryMb: async () => usedMb,
    kill: async (unitId: string) => {
      killed.push(unitId)
    },
  }
  const look = memoryWatch(pipelineContext({ db, machine: { units } }))
  const rows = [...(await plannedDeployments(db)).values()].flat()

  for (let count = 0; count < 3; count++) await look(rows)

  assert.deepEqual(killed, [[...usedMb.keys()][0]])
})

test("a limit that is set replaces the default, each by itself", () => {
  assert.deepEqual(unitLimitsOf(null), { memoryMb: 2048, cpu: 2 })
  assert.deepEqual(unitLimitsOf({ memory_mb: 5000 }), { memoryMb: 10_000, cpu: 2 })
  assert.deepEqual(unitLimitsOf({ cpu_limit: 8 }), { memoryMb: 2048, cpu: 8 })
  assert.deepEqual([memoryMbOf(undefined), memoryMbOf({ memory_mb: 300 })], [2048, 300])
})
