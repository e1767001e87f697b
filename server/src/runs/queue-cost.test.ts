/** The number of rows that the queue's statements read does not grow with history. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { idleness } from "../serving/queries.js"
import { newRun } from "../testing/new-run.js"
import { rowsRead } from "../testing/rows-read.js"
import { serverDatabase } from "../testing/test-server.js"
import {
  claimRuns,
  findFormerClaims,
  findHeldClaims,
  findUnheldClaims,
  nextDueMs,
  readQueueState,
  releaseRun,
} from "./claims.js"
import { beginRun } from "./queries.js"

const endedRuns = 20_000
const delayedRuns = 5_000
const pinnedRuns = 5_000
// A statement that reads one thread's runs in flight reads a handful of rows; one that reads history reads thousands.
const maxRowsRead = 50
// Postgres makes a generic plan for a prepared statement after five executions: that plan must be good, too.
const rounds = 8

const claimer = { serverId: randomUUID(), revisionId: "active", leaseMs: 60_000 }

/** A thread with a long history; many runs on other threads that are delayed, or wait for servers of another revision. */
async function filledThread(db: Db): Promise<string> {
  const threadId = randomUUID()
  await db.run(sql`insert into threads (thread_id) values (${threadId})`)
  const columns = sql`run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, not_before`
  await db.run(sql`
    insert into runs (${columns})
    select gen_random_uuid(), ${threadId}::uuid, gen_random_uuid(), 'agent', 'success', '{}', '{}', 'enqueue', now()
    from generate_series(1, ${endedRuns}::int)`)
  await db.run(sql`
    with delayed as (
      insert into threads (thread_id) select gen_random_uuid() from generate_series(1, ${delayedRuns}::int) returning thread_id)
    insert into runs (${columns})
    select gen_random_uuid(), thread_id, gen_random_uuid(), 'agent', 'pending', '{}', '{}', 'enqueue', now() + interval '1 day'
    from delayed`)
  await db.run(sql`
    with pinned as (
      insert into threads (thread_id, revision_id) select gen_random_uuid(), 'asleep' from generate_series(1, ${pinnedRuns}::int)
      returning thread_id)
    insert into runs (${columns}, revision_id)
    select gen_random_uuid(), thread_id, gen_random_uuid(), 'agent', 'pending', '{}', '{}', 'enqueue', now() - interval '1 hour', 'asleep'
    from pinned`)
  await db.run(sql`insert into serving_revisions (revision_id) values (${claimer.revisionId})`)
  await db.run(sql`analyze runs, threads`)
  return threadId
}

const finish = (tx: Db, runId: string, claimId: string | null) =>
  tx.run(sql`select end_run(${runId}, ${claimId}, 'success', null, null, '{}', 'idle')`)

/** Takes runs through every path, and returns how many rows each statement reads at most. */
async function readByStep(db: Database, threadId: string): Promise<Record<string, number>> {
  const read: Record<string, number> = {}
  const step = async (tx: Db, name: string, statement: (tx: Db) => Promise<unknown>) => {
    read[name] = Math.max(read[name] ?? 0, await rowsRead(tx, "runs", () => statement(tx)))
  }
  for (let round = 0; round < rounds; round++) {
    await db.transaction(async (tx) => {
      const direct = { ...newRun(threadId), ...claimer, canExecute: true }
      const queued = { ...newRun(threadId), ...claimer }
      let claimId: string | null = null
      await step(tx, "create and claim", async () => {
        claimId = (await beginRun(tx, direct)).claim_id
      })
      await step(tx, "finish", () => finish(tx, direct.runId, claimId))
      await step(tx, "create", () => beginRun(tx, queued))
      await step(tx, "claim", async () => {
        const claims = await claimRuns(tx, claimer, { limit: 50, runsAlone: false })
        claimId = claims[0]?.claimId ?? null
      })
      const release = {
        runId: queued.runId,
        claimId: claimId ?? "",
        ending: "handed_back",
        watcher: undefined,
      } as const
      await step(tx, "release", () => releaseRun(tx, release, "{}"))
      await step(tx, "cancel", () => tx.run(sql`select stop_run(${threadId}, ${queued.runId}, 'interrupt', 'test')`))
      await step(tx, "when is more due", nextDueMs)
      await step(tx, "is it idle", (it) => idleness(it, claimer.revisionId))
      await step(tx, "look at the queue", readQueueState)
      const untilMs = Date.now() + 60_000
      const { serverId } = claimer
      await step(tx, "find unheld claims", () => findUnheldClaims(tx, { serverId, heldHere: [randomUUID()], untilMs }))
      await step(tx, "find held claims", () => findHeldClaims(tx, serverId, [randomUUID()]))
      await step(tx, "find former claims", () => findFormerClaims(tx, randomUUID()))
    })
  }
  return read
}

test("the queue's statements read few rows after 20,000 runs of a thread and with 5,000 delayed and 5,000 pinned runs", async () => {
  await using db = await serverDatabase()
  const threadId = await filledThread(db)

  const read = await readByStep(db, threadId)

  const tooMany = Object.entries(read).filter(([, rows]) => rows > maxRowsRead)
  assert.deepEqual(tooMany, [], `rows read: ${JSON.stringify(read)}`)
  assert.ok((read.claim ?? 0) > 0, "the counters count")
})
