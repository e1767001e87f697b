/** No statement of a run reads a table from end to end, whatever the planner believes about its size. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { silent as log } from "@superstep/toolkit/testing/test-cluster"
import { Journal } from "../checkpoints/journal.js"
import { findCheckpoints } from "../checkpoints/queries.js"
import { checkpoint, ending } from "../checkpoints/testing/claimed-runs.js"
import { newRun } from "../testing/new-run.js"
import { wholeReads } from "../testing/rows-read.js"
import { migrations } from "../testing/test-server.js"
import { beginRun, deleteRun, findEndedRun } from "./queries.js"

const tables = ["threads", "runs", "run_events", "checkpoints", "checkpoint_blobs", "checkpoint_writes", "run_spans"]
// Postgres makes a generic plan for a prepared statement after five executions: that plan must be good, too.
const rounds = 8

const write = { taskId: "task", taskPath: "", idx: 0, channel: "messages", type: "json", bytes: Buffer.from('"hello"') }

test("a run that is created, saved, logged, ended and deleted reads no table from end to end, when all seem empty", async () => {
  await using db = await freshDatabase({ migrations })
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
          await attempt.putWrites({ threadId: run.threadId, checkpointNs: "", checkpointId: "a" }, [write])
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
