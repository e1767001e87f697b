/** What the end of a stateless run writes: it deletes rows without updating them first. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { writeClaims } from "../checkpoints/queries.js"
import { migrations } from "../testing/test-server.js"

test("the end of a stateless run does not update the run or its thread before deleting them", async () => {
  await using db = await freshDatabase({ migrations })
  const [runId, claimId, threadId] = [randomUUID(), randomUUID(), randomUUID()]
  await db.run(sql`insert into threads (thread_id, status) values (${threadId}, 'busy')`)
  await db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, claim_id,
      delete_thread_on_completion)
    values (${runId}, ${threadId}, ${randomUUID()}, 'chat', 'running', '{}', '{}', 'enqueue', ${claimId}, true)`)
  const ending = {
    threadId,
    status: "success",
    threadStatus: "idle",
    error: null,
    values: "{}",
    interrupts: "{}",
    deletesThread: true,
    events: [],
    eventsOfRollback: [],
  } as const

  const updates = await db.transaction(async (tx) => {
    const updated = sql`select sum(n_tup_upd)::int8 as n from pg_stat_xact_user_tables where relname in ('runs', 'threads')`
    const count = async () => (await tx.row<{ n: number }>(updated))?.n ?? Number.NaN
    const before = await count()
    const [end] = await writeClaims(tx, [{ fence: { runId, claimId }, writes: [{ kind: "ending", ending }] }])
    assert.equal(end?.outcome, "finished")
    return (await count()) - before
  })

  assert.equal(updates, 0)
  const left = await db.row<{ n: number }>(
    sql`select (select count(*) from threads) + (select count(*) from runs) as n`,
  )
  assert.equal(left?.n, 0)
})
