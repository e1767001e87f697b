/** No statement of a run reads a table from end to end, whatever the planner believes about its size. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { silent as log } from "@superstep/toolkit/testing/test-cluster"
import { Journal } from "../checkpoints/journal.js"
import { findCheckpoints, writeClaims } from "../checkpoints/queries.js"
import { addRun, checkpoint, ending, nodeWrite } from "../checkpoints/testing/claimed-runs.js"
import { newRun } from "../testing/new-run.js"
import { wholeReads } from "../testing/rows-read.js"
import { serverDatabase } from "../testing/test-server.js"
import { beginRun, deleteRun, findEndedRun } from "./queries.js"

const tables = ["threads", "runs", "run_events", "checkpoints", "checkpoint_blobs", "checkpoint_writes", "run_spans"]
// Postgres makes a generic plan for a prepared statement after five executions: that plan must be good, too.
const rounds = 8

test("a run that is created, saved, logged, ended and deleted reads no table from end to end, when all seem empty", async () => {
  await using db = await serverDatabase()
  // What a young database, or one whose runs all took their threads with them, tells the planner.
  await db.run(sql`analyze`)
  const read: Record<string, number> = {}
  const step = async (tx: Db, name: string, statement: (tx: Db) => Promise<unknown>) => {
    read[name] = (read[name] ?? 0) + (await wholeReads(tx, tables, () => statement(tx)))
  }

  for (let round = 0; round < rounds; round++) {
    await db.transaction(async (tx) => {
      const journal = new Journal({ db: tx, log })
      for (const deletesThread of [true, false]) {
        const kind = deletesThread ? "stateless" : "thread"
        const threadRule = deletesThread ? "ephemeral" : "create_if_missing"
        const created = { ...newRun(randomUUID()), threadRule, deleteThreadOnCompletion: deletesThread } as const
        const run = { runId: created.runId, threadId: created.threadId, claimId: "" }
        await step(tx, `${kind}: create`, async () => {
          run.claimId = (await beginRun(tx, { ...created, canExecute: true })).claim_id ?? ""
        })
        const attempt = journal.open(run, { number: 1, threadId: run.threadId })
        await step(tx, `${kind}: save`, async () => {
          void attempt.log({ seq: 1, event: "values", data: "{}" })
          await attempt.putCheckpoint(checkpoint(run, "a"))
          await attempt.putWrites({ threadId: run.threadId, checkpointNs: "", checkpointId: "a" }, [nodeWrite()])
        })
        await step(tx, `${kind}: read`, () =>
          findCheckpoints(tx, { threadId: run.threadId, checkpointNs: "", limit: 1 }),
        )
        await step(tx, `${kind}: end`, () => attempt.finish(() => ending(run, { deletesThread })))
        await step(tx, `${kind}: result`, () => findEndedRun(tx, run.threadId, run.runId))
        await step(tx, `${kind}: delete`, () => deleteRun(tx, run.threadId, run.runId))
        await step(tx, `${kind}: delete the thread`, () => tx.run(sql`select remove_thread(${run.threadId})`))
      }
    })
  }

  const whole = Object.entries(read).filter(([, count]) => count > 0)
  assert.deepEqual(whole, [])
  assert.equal(Object.keys(read).length, 14)
})

test("the end of a stateless run does not update the run or its thread before deleting them", async () => {
  await using db = await serverDatabase()
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
  const left = sql`select (select count(*) from threads) + (select count(*) from runs) as n`
  assert.deepEqual(await db.row(left), { n: 0 })
})
