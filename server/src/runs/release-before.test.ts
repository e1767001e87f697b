/** SQL functions that servers of earlier releases call still work on a database that this release has migrated. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { migrations, startTestServer } from "../testing/test-server.js"

const serverId = randomUUID()

/** A run as a server of 0.1.0 creates it. */
const create = async (db: Database, threadId: string, fields: { canExecute: boolean; strategy?: string }) => {
  const runId = randomUUID()
  const row = await db.row<{ outcome: string; claim_id: string | null }>(sql`
    select created.* from create_run(${runId}, ${threadId}, 'create_if_missing', '{}', ${randomUUID()}, 'agent', '{}',
      '{"config": {}, "stream_mode": ["values"], "durability": "async"}', ${fields.strategy ?? "enqueue"}, false, false, 0, ${serverId},
      ${fields.canExecute}, false, 30000, 'r1', null, null) created`)
  return { runId, outcome: row?.outcome, claimId: row?.claim_id ?? undefined }
}

const statusOf = async (db: Database, runId: string) =>
  (await db.row<{ status: string }>(sql`select status from runs where run_id = ${runId}`))?.status

test("a server of the previous release can create, stop, hand back and end runs, and gets notifications", async () => {
  await using db = await freshDatabase({ migrations })
  await db.run(sql`insert into serving (revision_id) values ('r1')`)
  const heard: string[] = []
  for (const channel of ["runs_pending", "run_cancel"])
    await db.listen(channel, (text) => heard.push(`${channel} ${text}`))
  const threadId = randomUUID()

  const first = await create(db, threadId, { canExecute: true })
  const second = await create(db, threadId, { canExecute: true })
  const cancelled = await db.row(
    sql`select cancel_run(${threadId}, ${second.runId}, 'interrupt', 'a client cancelled it') as outcome`,
  )
  const third = await create(db, threadId, { canExecute: true, strategy: "interrupt" })
  const ending = JSON.stringify([
    {
      n: 0,
      run_id: first.runId,
      claim_id: first.claimId,
      thread_id: threadId,
      ending: { status: "interrupted", thread_status: "idle" },
    },
  ])
  const rows = JSON.stringify({ checkpoints: [], blobs: [], writes: [], replacing: [] })
  const written = await db.rows(sql`select * from write_claims(${ending}, ${rows}, ${Buffer.alloc(0)})`)
  const alone = await create(db, randomUUID(), { canExecute: true })
  const released = await db.row(sql`
    select released.* from release_run(${alone.runId}, ${alone.claimId}, 'worker_died', null, 3, '{}') released`)

  assert.deepEqual([first.outcome, second.outcome, third.outcome], ["created", "created", "created"])
  assert.ok(first.claimId)
  assert.equal(second.claimId, undefined)
  assert.deepEqual(cancelled, { outcome: "stopped" })
  assert.deepEqual(written, [{ claim: 0, outcome: "finished", watched_by: [] }])
  assert.deepEqual(released, { outcome: "waiting", status: null })
  assert.equal(await statusOf(db, third.runId), "pending")
  await until(() => heard.length === 3, { what: "the notifications are there" })
  assert.deepEqual(heard.sort(), [`run_cancel ${first.runId}`, "runs_pending ", "runs_pending alone"])
})

test("a server of this release executes runs that a server of the previous release queued", async () => {
  await using db = await freshDatabase({ migrations })
  await db.run(sql`insert into serving (revision_id) values ('r1')`)
  await using server = await startTestServer(db, { revisionId: "r1", sweepMs: 2 ** 31 - 1 })

  const { runId } = await create(db, randomUUID(), { canExecute: false })

  await until(() => server.workers.running.has(runId), { what: "the run to start" })
})

test("a server of 0.2.0 can create a run on a thread that clients follow", async () => {
  await using db = await freshDatabase({ migrations })
  const [runId, threadId] = [randomUUID(), randomUUID()]
  const claimer = JSON.stringify({ serverId, revisionId: null, leaseMs: 30_000, canExecute: true })
  const first = JSON.stringify([{ seq: 0, event: "metadata", data: "{}" }])

  const created = await db.row<{ outcome: string; claim_id: string | null; places: string[] }>(sql`
    select * from create_followed_run(${runId}, ${threadId}, 'create_if_missing', '{}', ${randomUUID()}, 'agent', '{}', '{}', 'enqueue',
      false, false, 0, false, null, null, ${claimer}, 60000, ${first})`)
  const logged = await db.row<{ n: number }>(sql`select count(*) as n from run_events where run_id = ${runId}`)

  assert.equal(created?.outcome, "created")
  assert.ok(created?.claim_id)
  assert.deepEqual([created?.places.length, logged?.n], [1, 1])
})
