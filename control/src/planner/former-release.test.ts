/** What a release without roles stored of units, after the migration. */
import assert from "node:assert/strict"
import { cpSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { migrate } from "@superstep/toolkit/db/migrate"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { v7 as newId } from "uuid"
import { addDeployment, addRevision } from "../revisions/testing/rows.js"
import { migrations } from "../testing/api.js"

async function formerDatabase() {
  const db = await freshDatabase()
  const folder = join(temporaryFolder(), "migrations")
  const isFormer = (path: string) => (/\d{6}_.*sql$/.exec(path)?.[0] ?? "") < "000018"
  cpSync(migrations, folder, { recursive: true, filter: isFormer })
  await migrate({ uri: db.uri, folder, log: silent })
  return db
}

async function addFormer(db: Database, deploymentId: string, states: readonly string[], stage: string | null = null) {
  const revisionId = await addRevision(db, deploymentId, { status: "DEPLOYED", stage: null })
  await db.run(sql`update revisions set stage = ${stage} where revision_id = ${revisionId}`)
  for (const [ordinal, state] of states.entries()) {
    await db.run(sql`
      insert into units (unit_id, deployment_id, revision_id, ordinal, state, token_sealed)
      values (${newId()}, ${deploymentId}, ${revisionId}, ${ordinal}, ${state}, '')`)
  }
  return revisionId
}

test("units of an earlier release go on as what they were, and a drain goes on without its stage", async () => {
  await using db = await formerDatabase()
  const watched = await addDeployment(db)
  const settled = await addDeployment(db)
  const revisions = {
    older: await addFormer(db, watched, ["draining"]),
    former: await addFormer(db, watched, ["draining", "stopping"]),
    serving: await addFormer(db, watched, ["serving", "serving"], "drain"),
    next: await addFormer(db, watched, ["starting"], "deploy"),
    leftOver: await addFormer(db, settled, ["draining"]),
    ended: await addFormer(db, settled, ["stopping"]),
    without: await addFormer(db, settled, []),
    other: await addFormer(db, settled, ["serving"]),
  }

  await migrate({ uri: db.uri, folder: migrations, log: silent })

  const rows = await db.rows<{
    revision_id: string
    role: string | null
    due: boolean | null
    stage: string | null
  }>(sql`
    select revision_id, role, retire_by <= now() as due, stage from revisions`)
  const found = Object.entries(revisions).map(([name, id]) => {
    const { role, due, stage } = rows.find(({ revision_id }) => revision_id === id) ?? {}
    return [name, role, due, stage]
  })
  assert.deepEqual(found, [
    ["older", "retiring", false, null],
    ["former", "standby", null, null],
    ["serving", "serving", null, null],
    ["next", "starting", null, "deploy"],
    ["leftOver", "retiring", false, null],
    ["ended", "retiring", true, null],
    ["without", null, null, null],
    ["other", "serving", null, null],
  ])
})
