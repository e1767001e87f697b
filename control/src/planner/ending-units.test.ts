/** The order in which a unit is ended, with everything around the pipeline written down instead of done. */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import type { PipelineContext } from "../context.js"
import { addDeployment, addRevision } from "../revisions/testing/rows.js"
import { masterKey } from "../secrets/seal.js"
import { migrations } from "../testing/api.js"
import { executeOnUnit } from "./execute.js"
import type { UnitFacts } from "./facts.js"
import { allUnits } from "./queries.js"
import { serveWith, switchBack } from "./role-queries.js"
import { ensureUnits } from "./unit.js"

test("a unit that is rolled back is stopped after the edge has stopped sending to it", async () => {
  await using db = await freshDatabase({ migrations })
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
      push: async (table: { routes: readonly { units: readonly { unit_id: string }[] }[] }) => {
        const sendsTo = table.routes.flatMap(({ units }) => units.map(({ unit_id }) => unit_id))
        done.push(`the edge sends to ${sendsTo}`)
      },
    },
    machine: {
      units: {
        status: async () => ({ state: "running" }),
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
  const before = await serve()
  const failed = await serve()

  await db.transaction((tx) => switchBack(tx, { deploymentId, failed: failed.revision_id, drainMs: 60_000 }))
  const unit = (await allUnits(db)).find(({ unit_id }) => unit_id === failed.unit_id)
  assert.ok(unit)
  await executeOnUnit.remove(context, unit as UnitFacts)

  assert.deepEqual(done, [`the edge sends to ${before.unit_id}`, "stopped", "removed"])
})

test("a unit that somebody else has ended has no crash more, and is started again after a pause", async () => {
  await using db = await freshDatabase({ migrations })
  const deploymentId = await addDeployment(db)
  const revision_id = await addRevision(db, deploymentId, { status: "DEPLOYING", stage: "deploy" })
  const context = {
    db,
    log: silent,
    key: masterKey(randomBytes(32)),
    limits: { connections: 100 },
    machine: { units: { logs: async (_: string, from: string) => ({ lines: [], next: from }) } },
  } as unknown as PipelineContext
  const revision = { revision_id, deployment_id: deploymentId, source_config: {} as never }
  const [unit] = await ensureUnits(context, revision)
  const rowOf = async () => (await allUnits(db)).find(({ unit_id }) => unit_id === unit?.unit_id)

  await executeOnUnit["record disruption"](context, (await rowOf()) as UnitFacts)

  const { crashes, is_down } = (await rowOf()) ?? {}
  assert.deepEqual({ crashes, is_down }, { crashes: 0, is_down: true })
})
