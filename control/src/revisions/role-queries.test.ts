import assert from "node:assert/strict"
import test from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { v7 as newId } from "uuid"
import { crashesAfter } from "../health/restart.js"
import { recordEnd } from "../planner/crash-queries.js"
import { addUnit, unitById } from "../planner/queries.js"
import { migrations } from "../testing/api.js"
import type { Role } from "./revision.js"
import {
  endStandby,
  executingRevisions,
  retire,
  serveWith,
  setWeight,
  startCanary,
  startRevision,
  switchBack,
} from "./role-queries.js"
import { addDeployment, addRevision } from "./testing/rows.js"

const database = () => freshDatabase({ migrations })

const drainMs = 60_000

/** A revision that is being deployed, with one unit. */
async function startUnit(db: Database, deploymentId: string) {
  const revisionId = await addRevision(db, deploymentId, { status: "DEPLOYING", stage: "deploy" })
  const unitId = newId()
  assert.equal(await startRevision(db, revisionId), 1)
  await addUnit(db, { unitId, deploymentId, revisionId, ordinal: 0, tokenSealed: "sealed", isReady: true })
  const row = async () => {
    const unit = await unitById(db, unitId)
    assert.ok(unit)
    return unit
  }
  const role = async () => (await row()).role
  const serve = () => db.transaction((tx) => serveWith(tx, { deploymentId, revisionId }))
  return { unitId, revisionId, row, role, serve }
}

const rolesOf = async (...units: readonly { role(): Promise<Role> }[]) => {
  const roles: Role[] = []
  for (const unit of units) roles.push(await unit.role())
  return roles
}

test("the one that served stands by, and the one that stood by keeps its threads; repeating a switch changes nothing", async () => {
  await using db = await database()
  const deploymentId = await addDeployment(db)
  const oldest = await startUnit(db, deploymentId)
  const old = await startUnit(db, deploymentId)
  const current = await startUnit(db, deploymentId)
  await recordEnd(db, current.unitId, 1, 0)

  for (const unit of [oldest, old, current, current]) await unit.serve()

  assert.deepEqual(await rolesOf(oldest, old, current), ["pinned", "standby", "serving"])
  const { crashes, is_down } = await current.row()
  assert.deepEqual({ crashes, is_down }, { crashes: 0, is_down: false }, "it begins with a clean record")
  const counted = await db.row(
    sql`select loaded_at = serves_since as loaded from revisions where revision_id = ${current.revisionId}`,
  )
  assert.deepEqual(counted, { loaded: true }, "it keeps the units that the one before needed")
})

test("what retires never serves again; a unit that was up for ten minutes is started again as if it had never ended", async () => {
  await using db = await database()
  const unit = await startUnit(db, await addDeployment(db))
  await retire(db, unit.revisionId, 0)

  await assert.rejects(unit.serve(), /cannot serve: its units have ended, or are about to/)
  assert.equal(await endStandby(db, unit.revisionId), 0)

  const lasting = await startUnit(db, await addDeployment(db))
  await recordEnd(db, lasting.unitId, 5, 0)
  const soon = crashesAfter(await lasting.row())

  await db.run(sql`update units set start_after = now() - interval '10 minutes'`)

  assert.equal(soon, 6)
  assert.equal(crashesAfter(await lasting.row()), 1)
})

test("a switch is taken back once: the former revision serves, and the failed one finishes what it has", async () => {
  await using db = await database()
  const deploymentId = await addDeployment(db)
  const old = await startUnit(db, deploymentId)
  const failed = await startUnit(db, deploymentId)
  for (const unit of [old, failed]) await unit.serve()
  const takeBack = () => db.transaction((tx) => switchBack(tx, { deploymentId, failed: failed.revisionId, drainMs }))

  assert.equal(await takeBack(), old.revisionId)
  assert.equal(await takeBack(), undefined)

  assert.deepEqual(await rolesOf(old, failed), ["serving", "retiring"])
  const row = await db.row<{ active: string; retires_later: boolean }>(sql`
    select active_revision_id as active, retire_by > now() as retires_later
    from deployments join revisions using (deployment_id) where revision_id = ${failed.revisionId}`)
  assert.deepEqual(row, { active: old.revisionId, retires_later: true })
})

test("the tables, not the statements alone, keep a deployment to one revision that serves and one that stands by", async () => {
  await using db = await database()
  const deploymentId = await addDeployment(db)
  const [one, two] = [await startUnit(db, deploymentId), await startUnit(db, deploymentId)]
  const both = (role: Role) =>
    db.run(sql`update revisions set role = ${role} where revision_id = any(${[one.revisionId, two.revisionId]})`)

  await assert.rejects(both("serving"), /revision_one_serves_a_deployment/)
  await assert.rejects(both("standby"), /revision_one_stands_by/)
  await assert.rejects(both("retiring"), /revision_retires_by_a_time/)
  await assert.rejects(both("pinned"), /revision_pins_since_a_time/)
})

test("threads may be pinned to a canary until it is to be aborted, and it gets its percentage until then", async () => {
  await using db = await database()
  const deploymentId = await addDeployment(db)
  const [base, next] = [await startUnit(db, deploymentId), await startUnit(db, deploymentId)]
  await base.serve()
  await setWeight(db, next.revisionId, 10)
  await db.transaction((tx) => startCanary(tx, { deploymentId, revisionId: next.revisionId }))

  const before = await executingRevisions(db, deploymentId)
  await setWeight(db, next.revisionId, 0)
  const after = await executingRevisions(db, deploymentId)

  assert.deepEqual(before.all.toSorted(), [base.revisionId, next.revisionId].toSorted())
  assert.deepEqual(before.canary, { revision_id: next.revisionId, weight: 10 })
  assert.deepEqual(after, { all: [base.revisionId], canary: undefined })
})
