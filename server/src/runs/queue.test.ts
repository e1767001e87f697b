import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { anyone } from "../auth/caller.js"
import { cancelRun, createRun, getRun, joinRun, waitForEnd } from "../testing/as-anyone.js"
import { newThread } from "../testing/creations.js"
import { freshServer, Listening, migrations, startTestServer, type TestServer } from "../testing/test-server.js"
import { getThread } from "../threads/operations.js"
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

test("a run of an idle thread starts at once, and its stream starts with run_id and attempt", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const threadId = await newThread(server)
  const client = new Listening()

  const run = await createRun(server, { threadId, body: body(), subscriber: client })
  const execution = await started(server, run.run_id)
  execution.emit("values", { n: 1 })
  execution.done({ values: '{"n":1}' })
  await until(() => client.hasEnded, { what: "the end of the stream" })

  assert.deepEqual(client.events, [
    { event: "metadata", data: { run_id: run.run_id, attempt: 1 }, id: "0" },
    { event: "values", data: { n: 1 }, id: "1" },
    { event: "end", data: { run_id: run.run_id, status: "success" }, id: "2" },
  ])
  const thread = await getThread(server.db, anyone, threadId)
  assert.equal(thread.status, "idle")
  assert.equal(thread.values, '{"n":1}')
  assert.equal(thread.graph_id, "agent")
})

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

test("interrupt stops the previous run, and the new one follows", async () => {
  await using server = await freshServer()
  const threadId = await newThread(server)
  const first = await createRun(server, { threadId, body: body() })

  const second = await createRun(server, { threadId, body: body({ multitask_strategy: "interrupt" }) })
  ;(await started(server, second.run_id)).done()
  await waitForEnd(server, second.run_id)

  assert.equal(await statusOf(server, threadId, first.run_id), "interrupted")
  assert.equal(await statusOf(server, threadId, second.run_id), "success")
})

test("rollback removes the previous run, also a pending one", async () => {
  await using server = await freshServer()
  const threadId = await newThread(server)
  const first = await createRun(server, { threadId, body: body() })
  const waiting = await createRun(server, { threadId, body: body() })

  const second = await createRun(server, { threadId, body: body({ multitask_strategy: "rollback" }) })
  ;(await started(server, second.run_id)).done()
  await waitForEnd(server, second.run_id)

  await assert.rejects(getRun(server, { threadId, runId: first.run_id }), NotFound)
  await assert.rejects(getRun(server, { threadId, runId: waiting.run_id }), NotFound)
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

test("a run on a thread that does not exist is rejected, unless it may create the thread", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const threadId = randomUUID()

  await assert.rejects(createRun(server, { threadId, body: body() }), NotFound)
  const run = await createRun(server, { threadId, body: body({ if_not_exists: "create" }) })

  assert.equal(run.thread_id, threadId)
  assert.equal((await getThread(server.db, anyone, threadId)).status, "busy")
})

test("cancelling an ended run changes nothing", async () => {
  await using server = await freshServer()
  const threadId = await newThread(server)
  const run = await createRun(server, { threadId, body: body() })
  ;(await started(server, run.run_id)).done()
  await waitForEnd(server, run.run_id)

  await cancelRun(server, { threadId, runId: run.run_id, action: "interrupt", wait: true })

  assert.equal(await statusOf(server, threadId, run.run_id), "success")
  await assert.rejects(cancelRun(server, { threadId, runId: randomUUID(), action: "interrupt", wait: true }), NotFound)
})
