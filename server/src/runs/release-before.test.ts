/** SQL functions that servers of the previous release call still work on a database that this release has migrated. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { freshServer, serverDatabase } from "../testing/test-server.js"

const claimerText = (canExecute: boolean) =>
  JSON.stringify({ serverId: randomUUID(), revisionId: null, leaseMs: 30_000, canExecute })

/** A run as a server of 0.2.0 creates it. */
const create = async (db: Database, canExecute: boolean) => {
  const [runId, threadId] = [randomUUID(), randomUUID()]
  const row = await db.row<{ outcome: string; claim_id: string | null }>(sql`
    select created.* from create_run(${runId}, ${threadId}, 'create_if_missing', '{}', ${randomUUID()}, 'agent', '{}',
      '{"config": {}, "stream_mode": ["values"], "durability": "async"}', 'enqueue', false, false, 0, false, null, null,
      ${claimerText(canExecute)}) created`)
  return { runId, threadId, outcome: row?.outcome, claimId: row?.claim_id ?? undefined }
}

test("a server of 0.2.0 can create and end a run", async () => {
  await using db = await serverDatabase()

  const { runId, threadId, outcome, claimId } = await create(db, true)
  const ending = { status: "interrupted", thread_status: "idle" }
  const claims = JSON.stringify([{ n: 0, run_id: runId, claim_id: claimId, thread_id: threadId, ending }])
  const rows = JSON.stringify({ checkpoints: [], blobs: [], writes: [], replacing: [] })
  const written = await db.rows(sql`select * from commit_claims(${claims}, ${rows}, ${Buffer.alloc(0)})`)

  assert.equal(outcome, "created")
  assert.deepEqual(written, [{ claim: 0, outcome: "finished", watched_by: [], waiting: null }])
})

test("a server of this release executes runs that a server of the previous release queued", async () => {
  await using server = await freshServer({ sweepMs: 2 ** 31 - 1 })

  const { runId } = await create(server.db, false)
  server.loop.wake()

  await until(() => server.workers.running.has(runId), { what: "the run to start" })
})

test("a server of 0.2.0 can create a run on a thread that clients follow", async () => {
  await using db = await serverDatabase()
  const [runId, threadId] = [randomUUID(), randomUUID()]
  const first = JSON.stringify([{ seq: 0, event: "metadata", data: "{}" }])

  const created = await db.row<{ outcome: string; claim_id: string | null; places: string[] }>(sql`
    select * from create_followed_run(${runId}, ${threadId}, 'create_if_missing', '{}', ${randomUUID()}, 'agent', '{}', '{}', 'enqueue',
      false, false, 0, false, null, null, ${claimerText(true)}, 60000, ${first})`)
  const logged = await db.row<{ n: number }>(sql`select count(*) as n from run_events where run_id = ${runId}`)

  assert.equal(created?.outcome, "created")
  assert.ok(created?.claim_id)
  assert.deepEqual([created?.places.length, logged?.n], [1, 1])
})
