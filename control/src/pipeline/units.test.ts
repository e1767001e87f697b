import assert from "node:assert/strict"
import test from "node:test"
import { fileURLToPath } from "node:url"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { v7 as newId } from "uuid"
import type { Stage } from "../revisions/revision.js"
import { addDeployment, addRevision } from "../revisions/testing/rows.js"
import { recordCrash, recordReport, recordStart } from "./crash-queries.js"
import {
  addUnit,
  allUnits,
  serveWith,
  setUnitState,
  stopDraining,
  stopForgottenUnits,
  type UnitState,
  unitById,
} from "./queries.js"
import { crashesAfter } from "./restart.js"

const database = () => freshDatabase({ migrations: fileURLToPath(new URL("../../src/migrations", import.meta.url)) })

async function addUnitOf(db: Database, deploymentId: string, state: UnitState, stage: Stage | null = null) {
  const revisionId = await addRevision(db, deploymentId, { status: "DEPLOYED", stage })
  const unitId = newId()
  await addUnit(db, { unitId, deploymentId, revisionId, ordinal: 0, tokenSealed: "sealed" })
  await setUnitState(db, unitId, state)
  const row = async () => {
    const unit = await unitById(db, unitId)
    assert.ok(unit)
    return unit
  }
  return { unitId, revisionId, row }
}

test("a unit that serves begins with a clean record, and one that is about to end never serves", async () => {
  await using db = await database()
  const deploymentId = await addDeployment(db)
  const unit = await addUnitOf(db, deploymentId, "starting")
  const ending = await addUnitOf(db, deploymentId, "stopping")
  await recordCrash(db, unit.unitId, 1, 0)

  await serveWith(db, deploymentId, unit.revisionId)
  const refused = db.transaction((tx) => serveWith(tx, deploymentId, ending.revisionId))

  await assert.rejects(refused, /have ended, or are about to/)
  const { state, crashes, is_down } = await unit.row()
  assert.deepEqual({ state, crashes, is_down }, { state: "serving", crashes: 0, is_down: false })
})

test("a unit that was up for ten minutes is started again as if it had never ended", async () => {
  await using db = await database()
  const unit = await addUnitOf(db, await addDeployment(db), "serving")
  await recordCrash(db, unit.unitId, 5, 0)
  const soon = crashesAfter(await unit.row())

  await db.run(sql`update units set start_after = now() - interval '10 minutes'`)

  assert.equal(soon, 6)
  assert.equal(crashesAfter(await unit.row()), 1)
})

test("a unit that serves again is not stopped by who saw it drain", async () => {
  await using db = await database()
  const deploymentId = await addDeployment(db)
  const again = await addUnitOf(db, deploymentId, "serving")
  const old = await addUnitOf(db, deploymentId, "draining")

  await stopDraining(db, [again.unitId, old.unitId])

  assert.equal((await again.row()).state, "serving")
  assert.equal((await old.row()).state, "stopping")
})

test("what has drained for too long ends when no revision looks after it", async () => {
  await using db = await database()
  const drainMs = 60_000
  const kept: UnitState[] = []
  for (const stage of ["switch", "verify", "drain"] as const) {
    const deploymentId = await addDeployment(db)
    const old = await addUnitOf(db, deploymentId, "draining")
    await addUnitOf(db, deploymentId, "serving", stage)
    await db.run(sql`update units set state_since = now() - interval '1 hour' where unit_id = ${old.unitId}`)
    await stopForgottenUnits(db, drainMs)
    kept.push((await old.row()).state)
  }
  const deploymentId = await addDeployment(db)
  const forgotten = await addUnitOf(db, deploymentId, "draining")
  const recent = await addUnitOf(db, deploymentId, "draining")
  await db.run(sql`update units set state_since = now() - interval '1 hour' where unit_id = ${forgotten.unitId}`)

  await stopForgottenUnits(db, drainMs)

  assert.deepEqual(kept, ["draining", "draining", "draining"])
  assert.equal((await forgotten.row()).state, "stopping")
  assert.equal((await recent.row()).state, "draining")
})

test("replicas are restarted one after the other, and none as long as another one is down", async () => {
  await using db = await database()
  const deploymentId = await addDeployment(db)
  const revisionId = await addRevision(db, deploymentId, { status: "DEPLOYED", stage: null })
  const ids = [newId(), newId()] as const
  for (const [ordinal, unitId] of ids.entries()) {
    await addUnit(db, { unitId, deploymentId, revisionId, ordinal, tokenSealed: "sealed" })
    await setUnitState(db, unitId, "serving")
  }
  const outdated = async () => (await allUnits(db)).filter((unit) => unit.is_outdated).map(({ unit_id }) => unit_id)
  await recordCrash(db, ids[1], 1, 60_000)

  await db.run(sql`update deployments set restart_generation = 1`)

  assert.deepEqual(await outdated(), [], "the one that is up takes all requests")
  await recordStart(db, ids[1])
  assert.deepEqual(await outdated(), [], "the other one does not answer yet")
  await recordReport(db, ids[1], { is_answering: true, worker_crashes: 0, last_worker_crash: null, cross_origin: null })
  assert.deepEqual(await outdated(), [ids[0]])
})
