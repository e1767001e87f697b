import assert from "node:assert/strict"
import test from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { deploymentById } from "../deployments/carried-queries.js"
import { pipelineContext } from "../planner/testing/pipeline-context.js"
import { addDeployment } from "../revisions/testing/rows.js"
import { migrations } from "../testing/api.js"
import { DeployFailed } from "./failures.js"
import type { StageInput } from "./stage.js"
import { runVerify } from "./verify-stage.js"

/** The stage in a deployment whose public address never answers with the revision. */
async function verifying(asked: (db: Awaited<ReturnType<typeof freshDatabase>>) => Promise<unknown>) {
  await using db = await freshDatabase({ migrations })
  const id = await addDeployment(db)
  const context = pipelineContext({
    db,
    edge: { url: "http://127.0.0.1:1" },
    limits: { verifyRouteMs: 100 },
    network: { revisionBehind: () => asked(db).then(() => undefined) },
  })
  const revision = { revision_id: crypto.randomUUID(), deployment_id: id }
  const deployment = await deploymentById(db, id)
  const { signal } = new AbortController()
  return await runVerify({ context, revision, deployment, signal } as unknown as StageInput)
}

test("a deployment that is paused while its new revision is verified keeps the revision", async () => {
  const pause = sql`update deployments set desired_run_state = 'paused'`

  assert.deepEqual(await verifying((db) => db.run(pause)), { kind: "next", status: "DEPLOYED", stage: null })
})

test("one that runs and does not answer fails its revision", async () => {
  await assert.rejects(
    verifying(async () => undefined),
    DeployFailed,
  )
})
