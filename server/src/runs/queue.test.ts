import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { v7 as uuidv7 } from "uuid"
import { anyone } from "../auth/caller.js"
import { cancelRun, createRun, getRun, joinRun } from "../testing/as-anyone.js"
import { newThread } from "../testing/creations.js"
import { freshServer, Listening, migrations, startTestServer, type TestServer } from "../testing/test-server.js"
import { getThread } from "../threads/operations.js"
import { ClaimLoop } from "./claim-loop.js"
import { newRun } from "./schema.js"

const body = (fields: object = {}) => newRun.parse({ assistant_id: "agent", input: { n: 1 }, ...fields })

const started = (server: TestServer, runId: string) =>
  until(() => server.workers.running.get(runId), { what: `run ${runId} to start` })

const statusOf = async (server: TestServer, threadId: string, runId: string) =>
  (await getRun(server, { threadId, runId })).status
const countRows = async (db: Db) => {
  const row = await db.row<{ n: number }>(sql`
    select (select count(*) from runs) + (select count(*) from threads) + (select count(*) from run_events)
      + (select count(*) from checkpoints) as n`)
  return row?.n
}

test("a rejected run changes nothing, and the error says what to do", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  server.workers.graphs.push("other")
  const threadId = await newThread(server)
  const first = await createRun(server, { threadId, body: body() })
  const [before, thread] = [await countRows(server.db), await getThread(server.db, anyone, threadId)]

  const refused = body({ assistant_id: "other", multitask_strategy: "reject" })
  const second = createRun(server, { threadId, body: refused })

  await assert.rejects(
    second,
    (error: Error) => error instanceof Conflict && /already running a task/.test(error.message),
  )
  assert.equal(await countRows(server.db), before)
  assert.deepEqual(await getThread(server.db, anyone, threadId), thread)
  assert.equal(await statusOf(server, threadId, first.run_id), "running")
})

test("a restarted server takes back its former process's claims at once", async () => {
  await using db = await freshDatabase({ migrations })
  const serverId = randomUUID()
  const former = await startTestServer(db, { serverId })
  const threadId = await newThread(former)
  const run = await createRun(former, { threadId, body: body() })
  await former.crash()

  await using server = await startTestServer(db, { serverId })
  const execution = await started(server, run.run_id)

  assert.equal(execution.order.attempt, 2)
})

test("a run that executes in another server can be joined and cancelled there (B1–B3)", async () => {
  await using db = await freshDatabase({ migrations })
  await using owner = await startTestServer(db)
  await using other = await startTestServer(db, { slots: 0 })
  const threadId = await newThread(owner)
  const run = await createRun(owner, { threadId, body: body() })
  const execution = await started(owner, run.run_id)
  execution.emit("custom", "before")

  const client = new Listening()
  await joinRun(other, { threadId, runId: run.run_id, subscriber: client, after: undefined })
  await until(
    () => {
      execution.emit("custom", "after")
      return client.events.length > 3
    },
    { what: "events from the other server" },
  )
  await cancelRun(other, { threadId, runId: run.run_id, action: "interrupt", wait: true })
  await until(() => client.hasEnded, { what: "the end of the stream" })

  assert.equal(execution.isCancelled, true)
  assert.equal(
    client.events.some(({ data }) => data === "before"),
    false,
  )
  assert.deepEqual(client.events.at(-1)?.data, { run_id: run.run_id, status: "interrupted", input_saved: false })
  const ids = client.events.map(({ id }) => Number(id))
  assert.deepEqual(
    ids,
    Array.from(ids, (_, n) => (ids[0] ?? 0) + n),
    "a hole or a repeat",
  )
})

test("a delayed run starts when it is due", async () => {
  await using server = await freshServer()
  const threadId = await newThread(server)

  const late = await createRun(server, { threadId, body: body({ after_seconds: 3600 }) })
  const soon = await createRun(server, { threadId, body: body({ after_seconds: 0.05 }) })
  await started(server, soon.run_id)

  assert.equal(await statusOf(server, threadId, late.run_id), "pending")
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
  const [started] = await until(() => server.workers.started.length > 0 && server.workers.started, {
    what: "the run starts",
  })

  assert.equal(started?.order.attempt, 1)
  await loop.stop()
})
