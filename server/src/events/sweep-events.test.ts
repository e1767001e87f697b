/** Logs of ended runs are deleted in steps, by one server at a time. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { renewServer } from "../servers/queries.js"
import { serverDatabase } from "../testing/test-server.js"
import { deleteOldEvents } from "./queries.js"
import { eventSweep } from "./sweep-events.js"

const addLog = (db: Db, { runId, count, minutes }: { runId: string; count: number; minutes: number }) =>
  db.run(sql`
    insert into run_events (run_id, seq, event, data, created_at)
    select ${runId}, n, 'custom', '{}', now() - make_interval(mins => ${minutes}::int) from generate_series(1, ${count}::int) n`)

test("old logs are deleted in steps, except those of running runs and those that are being read", async () => {
  await using db = await serverDatabase()
  const [old, young, read, live] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
  await addLog(db, { runId: old, count: 12_000, minutes: 10 })
  await addLog(db, { runId: young, count: 1, minutes: 0 })
  await addLog(db, { runId: read, count: 1, minutes: 10 })
  await addLog(db, { runId: live, count: 1, minutes: 10 })
  const threadId = randomUUID()
  await db.run(sql`insert into threads (thread_id) values (${threadId})`)
  await db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy)
    values (${live}, ${threadId}, ${randomUUID()}, 'agent', 'pending', '{}', '{}', 'enqueue')`)
  const { step } = eventSweep(db, { serverId: randomUUID(), ttlSeconds: 120, readHere: () => [read] })

  const steps = [await step(), await step(), await step()]

  const left = await db.rows<{ run_id: string }>(sql`select distinct run_id from run_events`)
  assert.deepEqual(steps, [true, true, false])
  assert.deepEqual(left.map(({ run_id }) => run_id).sort(), [young, read, live].sort())
})

test("a log that a client reads at another server is kept while that server lives", async () => {
  await using db = await serverDatabase()
  const [one, two] = [randomUUID(), randomUUID()].map((serverId) => ({ serverId, revisionId: null, leaseMs: 60_000 }))
  assert.ok(one && two)
  for (const server of [one, two]) await renewServer(db, server, { freeSlots: 0, freeSoloSlots: 0 })
  const [runId, threadId] = [randomUUID(), randomUUID()]
  await addLog(db, { runId, count: 1, minutes: 10 })
  await addLog(db, { runId: randomUUID(), count: 1, minutes: 10 })
  await db.run(sql`update run_events set thread_id = ${threadId} where run_id <> ${runId}`)
  const left = async () => (await db.row<{ n: number }>(sql`select count(*) as n from run_events`))?.n
  const sweepAt = ({ serverId }: { serverId: string }, ...reads: string[]) =>
    eventSweep(db, { serverId, ttlSeconds: 120, readHere: () => reads }).step()

  await sweepAt(one, runId, threadId)
  await sweepAt(two)
  const leftWhileRead = await left()
  await sweepAt(one, runId)
  const leftLater = await left()
  await db.run(
    sql`update servers set lease_until = now(), seen_at = now() - interval '2 minutes' where server_id = ${one.serverId}`,
  )
  await sweepAt(two)

  assert.deepEqual([leftWhileRead, leftLater, await left()], [2, 1, 0])
})

test("while one server deletes, other servers skip the deletion", async () => {
  await using db = await serverDatabase()
  await addLog(db, { runId: randomUUID(), count: 4, minutes: 10 })
  const old = { ttlSeconds: 120, limit: 1 }

  const [first, other] = await db.transaction(async (tx) => [
    await deleteOldEvents(tx, old),
    await deleteOldEvents(db, old),
  ])
  const afterwards = await deleteOldEvents(db, { ...old, limit: 10 })

  assert.deepEqual([first, other, afterwards], [1, 0, 3])
})
