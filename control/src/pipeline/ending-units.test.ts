/** The order in which a unit is ended, with everything around the pipeline written down instead of done. */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { addDeployment, addRevision } from "../revisions/testing/rows.js"
import { masterKey } from "../secrets/seal.js"
import { migrations } from "../testing/api.js"
import type { PipelineContext } from "./context.js"
import { allUnits, serveWith } from "./queries.js"
import { reconcileUnit } from "./reconcile-unit.js"
import { switchBack } from "./switch-back.js"
import { ensureUnits } from "./unit.js"

test("a unit that is rolled back is stopped after the edge has stopped sending to it", async () => {
  await using db = await freshDatabase({ migrations })
  const deploymentId = await addDeployment(db)
  const done: string[] = []
  const context = {
    db,
    log: silent,
    key: masterKey(randomBytes(32)),
    limits: { connections: 100, watchMs: 60_000, stopGraceMs: 30_000, requestsPerSecond: 0 },
    crashPoint: () => undefined,
    edge: {
      status: async () => ({ generation: 0, units: {}, deployments: {} }),
      push: async (table: { routes: readonly { units: readonly { unit_id: string }[] }[] }) => {
        const sendsTo = table.routes.flatMap(({ units }) => units.map(({ unit_id }) => unit_id))
        done.push(`the edge sends to ${sendsTo}`)
      },
    },
    runtime: {
      status: async () => ({ state: "running", pid: 1 }),
      socketPath: (unitId: string) => unitId,
      logs: async (_: string, from: number) => ({ lines: [], next: from }),
      forgetLogs: async () => true,
      stop: async () => void done.push("stopped"),
      remove: async () => void done.push("removed"),
    },
  } as unknown as PipelineContext
  const serve = async () => {
    const revision_id = await addRevision(db, deploymentId, { status: "DEPLOYED", stage: null })
    const [unit] = await ensureUnits(context, { revision_id, deployment_id: deploymentId, source_config: {} as never })
    await serveWith(db, deploymentId, revision_id)
    return { revision_id, unit_id: unit?.unit_id }
  }
  const before = await serve()
  const failed = await serve()

  await db.transaction((tx) =>
    switchBack(tx, { deploymentId, failed: failed.revision_id, previous: before.revision_id }),
  )
  const unit = (await allUnits(db)).find(({ unit_id }) => unit_id === failed.unit_id)
  assert.ok(unit)
  await reconcileUnit(context, unit)

  assert.deepEqual(done, [`the edge sends to ${before.unit_id}`, "stopped", "removed"])
})
