import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { endDueSchemas, takeDueSchemas } from "../revisions/artifact-queries.js"
import { addArtifactRow, addDeployment, addRevision } from "../revisions/testing/rows.js"
import { migrations } from "../testing/api.js"
import { platformWithRepository } from "./testing/platform-with-repository.js"

test("schemas are due once their revision serves and no build runs, and again only later", async () => {
  await using db = await freshDatabase({ migrations })
  const [deploymentId, other] = [await addDeployment(db), await addDeployment(db)]
  const revisionId = await addRevision(db, deploymentId, { status: "DEPLOYED", stage: null })
  await addArtifactRow(db, deploymentId, "lacking", true)
  await addArtifactRow(db, deploymentId, "complete")
  await db.run(sql`update revisions set artifact_id = 'lacking'`)
  const makeDue = () => db.run(sql`update artifacts set schemas_due_at = now() where schemas_due_at is not null`)
  const taken = async () => (await takeDueSchemas(db))?.artifact_id

  const justBuilt = await taken()
  await makeDue()
  const notServing = await taken()
  await db.run(sql`update deployments set active_revision_id = ${revisionId} where deployment_id = ${deploymentId}`)
  const building = await addRevision(db, other, { status: "BUILDING", stage: "build" })
  await db.run(sql`update revisions set lease_owner = 'we', lease_until = now() where revision_id = ${building}`)
  const whileBuilding = await taken()
  await db.run(sql`update revisions set lease_owner = null, lease_until = null where revision_id = ${building}`)
  const [first, atOnce] = [await taken(), await taken()]
  await makeDue()
  const later = await taken()
  await endDueSchemas(db, "lacking")
  await makeDue()

  assert.deepEqual([justBuilt, notServing, whileBuilding, atOnce], [undefined, undefined, undefined, undefined])
  assert.deepEqual([first, later], ["lacking", "lacking"])
  assert.equal(await taken(), undefined)
})

test("schemas are read after the deployment, and once more when the platform was killed meanwhile", async () => {
  await using platform = await platformWithRepository()
  const { deploymentId } = await platform.serveRepository()
  const artifact = () =>
    platform.db.row<{ artifact_id: string; schemas_due_at: Date | null }>(
      sql`select artifact_id, schemas_due_at from artifacts where deployment_id = ${deploymentId}`,
    )
  const makeDue = () => platform.db.run(sql`update artifacts set schemas_due_at = now()`)
  await platform.kill()
  for (const point of ["schemas:after-take", "schemas:after-file"]) {
    await makeDue()
    await platform.start({ SUPERSTEP_CRASH_AT: point })
    await platform.untilDead()
    assert.notEqual((await artifact())?.schemas_due_at, null)
  }

  await makeDue()
  await platform.start()
  await until(async () => (await artifact())?.schemas_due_at === null, { what: "the schemas are stored" })

  const file = join(platform.home, "artifacts", (await artifact())?.artifact_id ?? "", ".superstep", "schemas.json")
  const { readings } = JSON.parse(readFileSync(file, "utf8"))
  assert.deepEqual(readings, [{ schemas: { "./chat.mjs:graph": { "": { state_schema: {} } } } }])
})
