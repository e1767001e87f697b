import assert from "node:assert/strict"
import { EventEmitter, once } from "node:events"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { migrations } from "../testing/api.js"
import { keptEdge } from "./testing/kept-edge.js"
import { addServing, routingOn, unitsOf } from "./testing/routing-on.js"

test("of two control planes that read the notes at the same moment, neither loses what the other took, even if that one is killed (T2)", async () => {
  await using db = await freshDatabase({ migrations })
  const unit = await addServing(db)
  const edge = keptEdge()
  const steps = new EventEmitter()
  let isPaused = false
  const transaction: Database["transaction"] = (work) =>
    db.transaction(async (tx) => {
      const result = await work(tx)
      if (!isPaused) return result
      const released = once(steps, "commit")
      steps.emit("read")
      await released
      return result
    })
  const killed = () => {
    if (isPaused) throw new Error("killed")
  }
  const one = routingOn({ ...db, transaction }, { edge, crashPoint: killed })
  const other = routingOn(db, { edge })
  await one.publish()
  await other.publish()
  await db.run(sql`update units set is_ready = false`)

  isPaused = true
  const hasRead = once(steps, "read")
  const ofOne = assert.rejects(one.publish(), /killed/)
  await hasRead
  const ofOther = other.publish()
  const waits = sql`
    select 1 from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.datname = current_database()`
  await until(() => db.row(waits), { what: "the other one waits for the notes" })
  steps.emit("commit")
  await Promise.all([ofOne, ofOther])

  assert.deepEqual(unitsOf(edge.taken.at(-1)), { [unit.deployment_id]: [0, "held"] })
})
