import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { anyone } from "../auth/caller.js"
import { activate } from "../serving/activation.js"
import { cancelRun, createRun, getRun, joinRun, waitForEnd } from "../testing/as-anyone.js"
import { Listening, migrations, startTestServer, type TestServer } from "../testing/test-server.js"
import { createThread, getThread } from "../threads/operations.js"
import { newRun } from "./schema.js"

const body = (fields: object = {}) => newRun.parse({ assistant_id: "agent", input: { n: 1 }, ...fields })

const newThread = async (db: TestServer["db"]) =>
  (await createThread(db, anyone, { threadId: undefined, metadata: {}, ifExists: "raise" })).thread_id

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
  const threadId = await newThread(server.db)
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

test("runs of one thread execute one after another, in the order of their requests", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const threadId = await newThread(server.db)

  const asked: string[] = []
  for (let n = 0; n < 4; n++) asked.push((await createRun(server, { threadId, body: body() })).run_id)
  for (const runId of asked) {
    const execution = await started(server, runId)
    assert.equal(server.workers.running.size, 1)
    execution.done()
  }

  assert.deepEqual(
    server.workers.started.map(({ order }) => order.runId),
    asked,
  )
  await waitForEnd(server, asked[3] ?? "")
  assert.equal((await getThread(server.db, anyone, threadId)).status, "idle")
})

test("two servers never execute one thread's runs at the same time (R1, R2, R3)", async () => {
  await using db = await freshDatabase({ migrations })
  await using one = await startTestServer(db)
  await using two = await startTestServer(db)
  const threads = await Promise.all(Array.from({ length: 5 }, () => newThread(one.db)))
  const servers = [one, two]
  const order: string[] = []

  const asked = new Map<string, string[]>()
  for (let n = 0; n < 6; n++) {
    for (const [index, threadId] of threads.entries()) {
      const server = servers[(n + index) % 2] ?? one
      const { run_id } = await createRun(server, { threadId, body: body() })
      asked.set(threadId, [...(asked.get(threadId) ?? []), run_id])
    }
  }
  await until(
    async () => {
      const running = servers.flatMap((server) => [...server.workers.running.values()])
      const busy = running.map((run) => run.order.threadId)
      assert.equal(new Set(busy).size, busy.length, "a thread has two running runs")
      for (const run of running) {
        order.push(run.order.runId)
        run.done()
      }
      return order.length === 30
    },
    { what: "all runs to be executed" },
  )

  for (const runIds of asked.values()) {
    assert.deepEqual(
      order.filter((runId) => runIds.includes(runId)),
      runIds,
    )
  }
})

test("a rejected run changes nothing, and the error says what to do", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  server.workers.graphs.push("other")
  const threadId = await newThread(server.db)
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
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const threadId = await newThread(server.db)
  const first = await createRun(server, { threadId, body: body() })

  const second = await createRun(server, { threadId, body: body({ multitask_strategy: "interrupt" }) })
  ;(await started(server, second.run_id)).done()
  await waitForEnd(server, second.run_id)

  assert.equal(await statusOf(server, threadId, first.run_id), "interrupted")
  assert.equal(await statusOf(server, threadId, second.run_id), "success")
})

test("rollback removes the previous run, also a pending one", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const threadId = await newThread(server.db)
  const first = await createRun(server, { threadId, body: body() })
  const waiting = await createRun(server, { threadId, body: body() })

  const second = await createRun(server, { threadId, body: body({ multitask_strategy: "rollback" }) })
  ;(await started(server, second.run_id)).done()
  await waitForEnd(server, second.run_id)

  await assert.rejects(getRun(server, { threadId, runId: first.run_id }), NotFound)
  await assert.rejects(getRun(server, { threadId, runId: waiting.run_id }), NotFound)
})

test("a run whose worker died is attempted again, and its stream shows the new attempt", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const threadId = await newThread(server.db)
  const client = new Listening()
  const run = await createRun(server, { threadId, body: body(), subscriber: client })

  const first = await started(server, run.run_id)
  first.die()
  const second = await until(() => server.workers.started[1], { what: "the second attempt" })
  second.done()
  await until(() => client.hasEnded, { what: "the end of the stream" })

  assert.equal(second.order.attempt, 2)
  assert.notEqual(second.order.claimId, first.order.claimId)
  assert.deepEqual(client.names, ["metadata", "metadata", "end"])
  assert.deepEqual(client.events[1]?.data, { run_id: run.run_id, attempt: 2 })
  const ids = client.events.map(({ id }) => Number(id))
  assert.deepEqual(
    [...ids].sort((a, b) => a - b),
    ids,
  )
})

test("a run that kills its worker three times ends in error with a typed reason (R5)", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const threadId = await newThread(server.db)
  const client = new Listening()
  const run = await createRun(server, { threadId, body: body(), subscriber: client })

  for (let attempt = 1; attempt <= 3; attempt++) {
    const execution = await until(() => server.workers.started[attempt - 1], { what: `attempt ${attempt}` })
    execution.die()
  }
  await until(() => client.hasEnded, { what: "the end of the stream" })

  const { status, error, attempt } = await getRun(server, { threadId, runId: run.run_id })
  assert.equal(status, "error")
  assert.equal(attempt, 3)
  assert.equal(JSON.parse(error ?? "null").error, "WorkerLost")
  assert.deepEqual(client.names.slice(-2), ["error", "end"])
  assert.equal((await getThread(server.db, anyone, threadId)).status, "error")
})

test("a restarted server takes back its former process's claims at once", async () => {
  await using db = await freshDatabase({ migrations })
  const serverId = randomUUID()
  const former = await startTestServer(db, { serverId })
  const threadId = await newThread(former.db)
  const run = await createRun(former, { threadId, body: body() })
  await former.crash()

  await using server = await startTestServer(db, { serverId })
  const execution = await started(server, run.run_id)

  assert.equal(execution.order.attempt, 2)
})

test("all clients that join a run late get its later events and no earlier ones (S1, S3)", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const threadId = await newThread(server.db)
  const run = await createRun(server, { threadId, body: body() })
  const execution = await started(server, run.run_id)
  execution.emit("custom", "before")

  const clients = [new Listening(), new Listening(), new Listening()]
  for (const subscriber of clients) {
    await joinRun(server, { threadId, runId: run.run_id, subscriber, after: undefined })
  }
  execution.emit("custom", "after")
  execution.done()
  await until(() => clients.every(({ hasEnded }) => hasEnded), { what: "all streams to end" })

  for (const client of clients) assert.deepEqual(client.names, ["custom", "end"])
  for (const client of clients) assert.equal(client.events[0]?.data, "after")
})

test("a run that executes in another server can be joined and cancelled there (B1–B3)", async () => {
  await using db = await freshDatabase({ migrations })
  await using owner = await startTestServer(db)
  await using other = await startTestServer(db, { slots: 0 })
  const threadId = await newThread(owner.db)
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

test("a client that waits at one server gets the events of a run that another server executes", async () => {
  await using db = await freshDatabase({ migrations })
  await using front = await startTestServer(db, { slots: 0 })
  await using back = await startTestServer(db)
  const threadId = await newThread(front.db)
  const client = new Listening()

  const run = await createRun(front, { threadId, body: body(), subscriber: client })
  const execution = await started(back, run.run_id)
  execution.emit("values", { n: 1 })
  execution.done()
  await until(() => client.hasEnded, { what: "the end of the stream" })

  assert.deepEqual(client.names, ["metadata", "values", "end"])
})

test("a resumable run can be read again from any event, without gaps or duplicates", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const threadId = await newThread(server.db)
  const live = new Listening()
  const run = await createRun(server, { threadId, body: body({ stream_resumable: true }), subscriber: live })
  const execution = await started(server, run.run_id)
  for (let n = 0; n < 10; n++) execution.emit("custom", n)

  const [during, afterwards] = [new Listening(), new Listening()]
  await joinRun(server, { threadId, runId: run.run_id, subscriber: during, after: 4 })
  for (let n = 10; n < 20; n++) execution.emit("custom", n)
  execution.done()
  await until(() => during.hasEnded && live.hasEnded, { what: "the live streams to end" })
  await waitForEnd(server, run.run_id)
  await joinRun(server, { threadId, runId: run.run_id, subscriber: afterwards, after: -1 })

  assert.equal(live.events.length, 22)
  assert.deepEqual(during.events, live.events.slice(5))
  assert.deepEqual(afterwards.events, live.events)
  assert.equal(afterwards.hasEnded, true)
})

test("a stateless run is deleted completely after its end", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const client = new Listening()

  const run = await createRun(server, { threadId: undefined, body: body(), subscriber: client })
  const execution = await started(server, run.run_id)
  await server.db.run(sql`
    insert into checkpoints (thread_id, checkpoint_id, checkpoint, metadata) values (${run.thread_id}, 'c1', '{}', '{}')`)
  execution.done()
  await until(() => client.hasEnded, { what: "the end of the stream" })

  assert.equal(await countRows(server.db), 0)
})

test("only a revision that serves claims runs", async () => {
  await using db = await freshDatabase({ migrations })
  await using old = await startTestServer(db, { revisionId: "r1" })
  await activate({ db: old.db, workers: old.workers, revisionId: "r1", graphDefaults: {}, defaultTtl: undefined })
  await using next = await startTestServer(db, { revisionId: "r2" })
  const threads = [await newThread(old.db), await newThread(old.db)] as const

  const before = await createRun(next, { threadId: threads[0], body: body() })
  await started(old, before.run_id)
  await activate({ db: next.db, workers: next.workers, revisionId: "r2", graphDefaults: {}, defaultTtl: undefined })
  const after = await createRun(old, { threadId: threads[1], body: body() })
  await started(next, after.run_id)

  assert.equal(next.workers.started.length, 1)
  assert.equal(old.workers.started.length, 1)
})

test("a delayed run starts when it is due", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const threadId = await newThread(server.db)

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
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const threadId = await newThread(server.db)
  const run = await createRun(server, { threadId, body: body() })
  ;(await started(server, run.run_id)).done()
  await waitForEnd(server, run.run_id)

  await cancelRun(server, { threadId, runId: run.run_id, action: "interrupt", wait: true })

  assert.equal(await statusOf(server, threadId, run.run_id), "success")
  await assert.rejects(cancelRun(server, { threadId, runId: randomUUID(), action: "interrupt", wait: true }), NotFound)
})
