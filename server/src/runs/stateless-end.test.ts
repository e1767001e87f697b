/** What the end of a stateless run writes: it deletes rows without updating them first. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { writeClaims } from "../checkpoints/queries.js"
import { addRun, ending } from "../checkpoints/testing/claimed-runs.js"
import { migrations } from "../testing/test-server.js"

test("the end of a stateless run does not update the run or its thread before deleting them", async () => {
  await using db = await freshDatabase({ migrations })
  const run = await addRun(db)
  const { runId, claimId } = run
  await db.run(sql`update runs set delete_thread_on_completion = true where run_id = ${runId}`)

  const updates = await db.transaction(async (tx) => {
    const updated = sql`select sum(n_tup_upd)::int8 as n from pg_stat_xact_user_tables where relname in ('runs', 'threads')`
    const count = async () => (await tx.row<{ n: number }>(updated))?.n ?? Number.NaN
    const before = await count()
    const [end] = await writeClaims(tx, [
      { fence: { runId, claimId }, writes: [{ kind: "ending", ending: ending(run, { deletesThread: true }) }] },
    ])
    assert.equal(end?.outcome, "finished")
    return (await count()) - before
  })

  assert.equal(updates, 0)
  const left = await db.row<{ n: number }>(
    sql`select (select count(*) from threads) + (select count(*) from runs) as n`,
  )
  assert.equal(left?.n, 0)
})
