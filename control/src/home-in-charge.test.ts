import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { HomeInUse } from "./home.js"
import { stayInCharge, takeDatabase } from "./home-in-charge.js"
import { migrations } from "./testing/api.js"

test("a database has one data folder, until that is released or silent for long", async () => {
  await using db = await freshDatabase({ migrations })
  const grow = () => db.run(sql`update home_in_charge set seen_at = seen_at - interval '31 seconds'`)

  const atOnce = await Promise.allSettled(["one", "two", "three"].map((id) => takeDatabase(db, id)))
  const refused = atOnce.flatMap((it) => (it.status === "rejected" ? [it.reason as Error] : []))
  assert.equal(refused.length, 2)
  assert.ok(refused.every((error) => error instanceof HomeInUse && /another data folder/.test(error.message)))

  await grow()
  await takeDatabase(db, "two")
  await takeDatabase(db, "two")
  const leave = stayInCharge({ db, log: silent }, "two")
  await assert.rejects(takeDatabase(db, "one"), HomeInUse)
  await leave()
  await takeDatabase(db, "one")
  const foreign = stayInCharge({ db, log: silent }, "two")
  await foreign()
  await assert.rejects(takeDatabase(db, "two"), HomeInUse, "who has lost it takes nobody's place")
})
