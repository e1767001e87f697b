/** What fails in one place stops none of the others. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { v7 as newId } from "uuid"
import { pipelineContext } from "../planner/testing/pipeline-context.js"
import { addDeployment, addRevision } from "../revisions/testing/rows.js"
import { migrations } from "../testing/api.js"
import { startReconciler } from "./reconciler.js"

const refuse = async () => {
  throw new Error("refused")
}

test("a unit that cannot be stopped, and a deployment that cannot be deleted, keep no other one", async (t) => {
  await using db = await freshDatabase({ migrations })
  for (let count = 0; count < 2; count++) await addDeployment(db)
  await db.run(sql`update deployments set delete_requested_at = now()`)
  // In the order in which they are read.
  const [stuck] = await db.rows<{ deployment_id: string }>(sql`select deployment_id from deployments`)
  await addRevision(db, stuck?.deployment_id ?? "")
  const orphans = [newId(), newId()]
  const removed: string[] = []
  const context = pipelineContext({
    db,
    edge: { isAlive: async () => true, ensure: async () => undefined, status: async () => ({}) },
    routing: { publish: async () => undefined },
    limits: { stopGraceMs: 1000 },
    machine: {
      units: {
        list: async () => orphans,
        stop: (id: string) => (id === orphans[0] ? refuse() : Promise.resolve()),
        remove: async (id: string) => void removed.push(id),
      },
      // Only one of the deployments has a revision.
      builds: {
        list: async () => [],
        stop: (ids: ReadonlySet<string>) => (ids.size > 0 ? refuse() : Promise.resolve()),
      },
      artifacts: { list: async () => [], removeCache: async () => undefined },
    },
  })

  const reconciler = startReconciler(context)
  t.after(() => reconciler.stop())
  reconciler.wake()
  const left = sql`select deployment_id from deployments`
  await until(async () => (await db.rows(left)).length === 1, { what: "the other deployment is deleted" })

  assert.deepEqual(await db.rows(left), [stuck])
  assert.deepEqual(new Set(removed), new Set(orphans.slice(1)))
})
