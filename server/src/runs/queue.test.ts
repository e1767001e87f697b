import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { v7 as uuidv7 } from "uuid"
import { anyone } from "../auth/caller.js"
import { addRun, attemptOf, cancelRun, getRun, joinRun } from "../testing/as-anyone.js"
import { freshServer, Listening, serverDatabase, startTestServer } from "../testing/test-server.js"
import { getThread } from "../threads/operations.js"
import { ClaimLoop } from "./claim-loop.js"

const countRows = async (db: Db) => {
  const row = await db.row<{ n: number }>(sql`
    select (select count(*) from runs) + (select count(*) from threads) + (select count(*) from run_events)
      + (select count(*) from checkpoints) as n`)
  return row?.n
}

test("a rejected run changes nothing, and the error says what to do", async () => {
  await using server = await freshServer()
  server.workers.graphs.push("other")
  const { threadId, runId } = await addRun(server)
  const [before, thread] = [await countRows(server.db), await getThread(server.db, anyone, threadId)]

  const refused = addRun(server, { on: threadId, assistant_id: "other", multitask_strategy: "reject" })

  await assert.rejects(refused, /already running a task/)
  assert.equal(await countRows(server.db), before)
  assert.deepEqual(await getThread(server.db, anyone, threadId), thread)
  assert.equal((await getRun(server, { threadId, runId })).status, "running")
})

test("a restarted server takes back its former process's claims at once", async () => {
  await using db = await serverDatabase()
  const serverId = randomUUID()
  const former = await startTestServer(db, { serverId })
  const { runId } = await addRun(former)
  await former.crash()

  await using server = await startTestServer(db, { serverId })

  await attemptOf(server, runId, 2)
})

test("a restarted server takes back the other claims of its former process while a transaction has one of the runs", async () => {
  await using db = await serverDatabase()
  const serverId = randomUUID()
  const former = await startTestServer(db, { serverId, leaseMs: 1_000 })
  const [locked, other] = [await addRun(former), await addRun(former)]
  await former.crash()

  await using server = await db.transaction(async (tx) => {
    await tx.run(sql`select from runs where run_id = ${locked.runId} for update`)
    const started = await startTestServer(db, { serverId, leaseMs: 1_000 })
    await attemptOf(started, other.runId, 2)
    return started
  })

  await attemptOf(server, locked.runId, 2)
})

test("a run that executes in another server can be joined and cancelled there (B1–B3)", async () => {
  await using db = await serverDatabase()
  await using owner = await startTestServer(db)
  await using other = await startTestServer(db, { slots: 0 })
  const { threadId, runId } = await addRun(owner)
  const execution = await attemptOf(owner, runId)
  execution.emit("custom", "before")

  const client = new Listening()
  await joinRun(other, { threadId, runId, subscriber: client, after: undefined })
  const hasEvents = () => {
    execution.emit("custom", "after")
    return client.events.length > 3
  }
  await until(hasEvents, { what: "events from the other server" })
  await cancelRun(other, { threadId, runId, action: "interrupt", wait: true })
  await until(() => client.hasEnded, { what: "the end of the stream" })

  assert.equal(execution.isCancelled, true)
  assert.ok(!client.events.some(({ data }) => data === "before"))
  assert.deepEqual(client.events.at(-1)?.data, { run_id: runId, status: "interrupted", input_saved: false })
  const ids = client.events.map(({ id }) => Number(id))
  const inARow = ids.map((_, n) => (ids[0] ?? 0) + n)
  assert.deepEqual(ids, inARow, "a hole or a repeat")
})

test("a worker that is ready before the loop has started does not cost a run its first attempt", async () => {
  await using server = await freshServer()
  await server.loop.stop()
  const [threadId, runId] = [uuidv7(), uuidv7()]
  await server.db.run(sql`insert into threads (thread_id) values (${threadId})`)
  await server.db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy)
    values (${runId}, ${threadId}, ${uuidv7()}, 'agent', 'pending', '{}',
      '{"config": {}, "stream_mode": ["values"], "durability": "async"}', 'enqueue')`)
  const loop = new ClaimLoop({ ...server, sweepMs: 50, maxGapMs: 10_000, graceMs: 0 })

  loop.slotFreed()
  loop.wake()
  await loop.start()
  await attemptOf(server, runId)
  await loop.stop()
})
