import assert from "node:assert/strict"
import { test } from "node:test"
import { openDatabase } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { migrations } from "../testing/api.js"
import { HomeInUse } from "./home.js"
import { NotInCharge, StoppedStandingBy, sessionInCharge, stayInCharge, takeDatabase } from "./home-in-charge.js"

const alone = (homeId: string, restoredFrom?: string) => ({
  homeId,
  restoredFrom,
  processId: `process of ${homeId}`,
  standsBy: false,
})
const standby = (processId: string) => ({ homeId: "shared", restoredFrom: undefined, processId, standsBy: true })
const nobodyLoses = () => assert.fail("it is in charge")

test("a database has one data folder, until that is released or silent for long", async () => {
  await using db = await freshDatabase({ migrations })
  const grow = () => db.run(sql`update home_in_charge set seen_at = seen_at - interval '31 seconds'`)

  const atOnce = await Promise.allSettled(["one", "two", "three"].map((id) => takeDatabase(db, alone(id))))
  const refused = atOnce.flatMap((it) => (it.status === "rejected" ? [it.reason as Error] : []))
  assert.equal(refused.length, 2)
  assert.ok(refused.every((error) => error instanceof HomeInUse && /another data folder/.test(error.message)))

  await grow()
  await takeDatabase(db, alone("two"))
  await takeDatabase(db, alone("two"))
  const leave = stayInCharge({ db, log: silent }, "process of two", nobodyLoses)
  await assert.rejects(takeDatabase(db, alone("one")), HomeInUse)
  await leave()
  await takeDatabase(db, alone("one"))
  const lost: Error[] = []
  const foreign = stayInCharge({ db, log: silent }, "process of two", (error) => lost.push(error))
  await foreign()
  assert.ok(lost[0] instanceof NotInCharge)
  await assert.rejects(takeDatabase(db, alone("two")), HomeInUse, "who has lost it takes nobody's place")
  await takeDatabase(db, alone("a copy", "one"))
})

test("a process that was stopped in the middle of a transaction writes nothing after another took over", async () => {
  await using db = await freshDatabase({ migrations })
  await db.run(sql`create table written (by_whom text)`)
  await takeDatabase(db, standby("one"))
  const lost: Error[] = []
  const onSession = sessionInCharge("one", (error) => lost.push(error))
  await using first = openDatabase({ uri: db.uri, log: silent, onSession })
  await first.run(sql`insert into written values ('one, in charge')`)

  const writing = first.transaction(async (tx) => {
    await tx.run(sql`insert into written values ('one, in a transaction')`)
    // As if it was stopped here for long.
    await db.run(sql`update home_in_charge set seen_at = now() - interval '16 seconds'`)
    await takeDatabase(db, standby("two"))
  })

  await assert.rejects(writing)
  await assert.rejects(first.run(sql`insert into written values ('one, later')`), NotInCharge)
  assert.ok(lost.length > 0)
  assert.deepEqual(await db.rows(sql`select by_whom from written`), [{ by_whom: "one, in charge" }])
})

test("a process that stands by can be stopped", async () => {
  await using db = await freshDatabase({ migrations })
  await takeDatabase(db, standby("one"))
  const { waiting, stop } = waitingFor()

  const taking = takeDatabase(db, standby("two"), waiting)
  stop()

  await assert.rejects(taking, StoppedStandingBy)
})

function waitingFor() {
  const stopping = new AbortController()
  let isStandingBy = false
  const onStandBy = async () => {
    isStandingBy = true
  }
  return {
    waiting: { onStandBy, signal: stopping.signal },
    isStandingBy: () => isStandingBy,
    stop: () => stopping.abort(),
  }
}
