import assert from "node:assert/strict"
import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import test from "node:test"
import { buildFiles } from "@superstep/builder/build-request"
import { prepare } from "@superstep/builder/testing/build"
import { workFolder } from "@superstep/machines/parts/files/folders"
import { processPlace } from "@superstep/machines/process/testing/place"
import { sql } from "@superstep/toolkit/db/sql"
import { MemberFailures } from "@superstep/toolkit/log/member-failures"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { v7 as newId } from "uuid"
import { removeUnneededArtifact, unneededArtifacts } from "../revisions/artifact-queries.js"
import { addArtifactRow, addDeployment, addRevision } from "../revisions/testing/rows.js"
import { migrations } from "../testing/api.js"
import { removeUnknownArtifacts, removeUnknownCaches } from "./retention.js"

test("an artifact that has no row and that nobody builds, and a cache whose deployment is gone, are removed", async () => {
  await using db = await freshDatabase({ migrations })
  const { folders, open } = processPlace()
  for (const id of ["known", "in-build"]) mkdirSync(join(folders.artifacts, id), { recursive: true })
  const deploymentId = await addDeployment(db)
  await addArtifactRow(db, deploymentId, "known")
  const { request } = buildFiles(workFolder(folders, "revision").build)
  mkdirSync(dirname(request), { recursive: true })
  const building = prepare({}, [], { artifactFolder: join(folders.artifacts, "in-build") })
  writeFileSync(request, JSON.stringify(building.request))

  for (const id of [deploymentId, newId()]) mkdirSync(join(folders.cache, id, "managers"), { recursive: true })

  const context = { db, machine: open(), log: silent, failures: new MemberFailures(silent) }
  await removeUnknownArtifacts(context)
  await removeUnknownCaches(context)

  assert.deepEqual(readdirSync(folders.artifacts).toSorted(), ["in-build", "known"])
  assert.deepEqual(readdirSync(folders.cache), [deploymentId])
})

test("the last deployed revisions keep their artifacts, and whatever runs or is on its way does too", async () => {
  await using db = await freshDatabase({ migrations })
  const deploymentId = await addDeployment(db)
  const add = async (artifactId: string, revision: Parameters<typeof addRevision>[2]) => {
    const revisionId = await addRevision(db, deploymentId, revision)
    await addArtifactRow(db, deploymentId, artifactId)
    await db.run(sql`update revisions set artifact_id = ${artifactId} where revision_id = ${revisionId}`)
    return revisionId
  }
  const active = await add("active", { status: "DEPLOYED", stage: null })
  await add("oldest", { status: "DEPLOYED", stage: null })
  await add("failed", { status: "DEPLOY_FAILED", stage: null })
  await add("older", { status: "DEPLOYED", stage: null })
  await add("newest", { status: "DEPLOYED", stage: null })
  await add("deploying", { status: "DEPLOYING", stage: "deploy" })
  await db.run(sql`update deployments set active_revision_id = ${active} where deployment_id = ${deploymentId}`)

  assert.deepEqual(await unneededArtifacts(db, 2), [], "none that was just built")
  await db.run(sql`update artifacts set created_at = now() - interval '2 hours'`)
  const unneeded = (await unneededArtifacts(db, 2)).map(({ artifact_id }) => artifact_id)

  assert.deepEqual(unneeded.toSorted(), ["failed", "oldest"])

  // While others are removed, one of them becomes wanted again.
  await addRevision(db, await addDeployment(db), { status: "AWAITING_BUILD", stage: "fetch" })
  const again = await addRevision(db, deploymentId, { status: "AWAITING_DEPLOY", stage: "deploy" })
  await db.run(sql`update revisions set artifact_id = 'oldest' where revision_id = ${again}`)
  assert.equal(await removeUnneededArtifact(db, "oldest", 2), 0)
  assert.equal(await removeUnneededArtifact(db, "failed", 2), 1)

  await addRevision(db, deploymentId, { status: "AWAITING_BUILD", stage: "fetch" })
  assert.deepEqual(await unneededArtifacts(db, 2), [], "one that is looking for an artifact may be about to use it")
})
