/** Races: a concurrent claim, a lost notification, a lease that expires early. */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { NotFound } from "@superstep/toolkit/errors/errors"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { putCheckpoint, putWrites } from "../checkpoints/queries.js"
import { checkpoint, gate, nodeWrite } from "../checkpoints/testing/claimed-runs.js"
import { addRun, attemptOf, cancelRun, createRun, getRun, joinRun, waitForEnd } from "../testing/as-anyone.js"
import { newThread } from "../testing/creations.js"
import { endLeases, whileLeasesAreOver } from "../testing/end-leases.js"
import { body } from "../testing/revisions.js"
import { freshServer, Listening, serverDatabase, startTestServer, type TestServer } from "../testing/test-server.js"
import { untilBlocked } from "../testing/until-blocked.js"
import { findUnheldClaims, releaseRun } from "./claims.js"
import { OverdueEnds } from "./overdue-ends.js"
import { watchRun } from "./queries.js"
import { workerLost } from "./run.js"

// Longer than any test, so that a server reacts only to messages.
const never = 2 ** 31 - 1

/** Releases a run like another server after the lease of its server has ended. */
const takeBack = (db: Database, runId: string): Promise<void> =>
  whileLeasesAreOver(db, async (tx) => {
    const all = { serverId: randomUUID(), heldHere: [], untilMs: Number.POSITIVE_INFINITY }
    const claim = (await findUnheldClaims(tx, all)).find((one) => one.runId === runId)
    assert.ok(claim)
    await releaseRun(tx, { ...claim, watcher: undefined }, JSON.stringify(workerLost("its server")))
  })

/** A run whose client listens at the server that had it first, and which another server executes now. The first one does not know yet. */
async function takenOver(db: Database, former: TestServer) {
  const client = new Listening()
  const { runId } = await addRun(former, { subscriber: client, stream_resumable: true })
  await attemptOf(former, runId)
  await former.loop.stop()
  const next = await startTestServer(db)
  await endLeases(db, former.claimer.serverId)
  const second = await attemptOf(next, runId, 2)
  return { client, runId, next, second, [Symbol.asyncDispose]: () => next[Symbol.asyncDispose]() }
}

for (const action of ["interrupt", "rollback"] as const) {
  test(`a run that is claimed at this moment is asked to stop, not ended while its worker executes it (${action})`, async () => {
    await using server = await freshServer({ slots: 0 })
    const { threadId, runId } = await addRun(server, { on: await newThread(server) })

    const { cancelling } = await server.db.transaction(async (tx) => {
      await tx.run(sql`update runs set status = 'running', attempt = 1, claim_id = gen_random_uuid(),
        claimed_by = gen_random_uuid(), lease_until = now() + interval '30 s' where run_id = ${runId}`)
      const cancelling = cancelRun(server, { threadId, runId, action, wait: false })
      await untilBlocked(server.db)
      return { cancelling }
    })
    await cancelling

    const row = await server.db.row(sql`select status, cancel_action from runs where run_id = ${runId}`)
    assert.deepEqual(row, { status: "running", cancel_action: action })
  })
}

test("a run from a checkpoint that is removed at this moment is refused", async () => {
  await using server = await freshServer()
  const threadId = await newThread(server)
  const checkpointId = "1f000000-0000-6000-8000-000000000000"
  await server.db.run(sql`insert into checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
    values (${threadId}, '', ${checkpointId}, '{}', '{}')`)

  const { refused } = await server.db.transaction(async (tx) => {
    await tx.run(sql`select from threads where thread_id = ${threadId} for update`)
    const refused = assert.rejects(addRun(server, { on: threadId, checkpoint_id: checkpointId }), NotFound)
    await untilBlocked(server.db)
    await tx.run(sql`delete from checkpoints where thread_id = ${threadId}`)
    return { refused }
  })
  await refused

  assert.equal((await server.db.row<{ n: number }>(sql`select count(*) as n from runs`))?.n, 0)
})

test("the end of a run names the run that was created while the end waited for the thread (R8)", async () => {
  await using server = await freshServer({ slots: 0 })
  const { threadId, runId } = await addRun(server, { on: await newThread(server) })

  const row = await server.db.transaction(async (tx) => {
    await tx.run(sql`select now()`)
    await addRun(server, { on: threadId })
    return tx.row<{ waiting: unknown }>(sql`select waiting from stop_run(${threadId}, ${runId}, 'interrupt', null)`)
  })

  assert.deepEqual(row?.waiting, { revisionId: null, runsAlone: false })
})

test("when a run is taken back and claimed by the same server again, the old attempt ends and only the new one publishes events (X2)", async () => {
  await using server = await freshServer()
  const client = new Listening()
  const { runId } = await addRun(server, { subscriber: client })
  const first = await attemptOf(server, runId)
  first.emit("values", { from: 1 })

  await takeBack(server.db, runId)
  const second = await attemptOf(server, runId, 2)
  first.emit("values", { from: "a ghost" })
  second.emit("values", { from: 2 })
  second.done()
  await until(() => client.hasEnded, { what: "the end of the stream" })

  assert.deepEqual(client.names, ["metadata", "values", "metadata", "values", "end"])
  assert.equal(JSON.stringify(client.events).includes("ghost"), false)
})

test("clients of a run that another server took over still get its events, also if the database was away meanwhile (X5)", async () => {
  await using db = await serverDatabase()
  let failures = 2
  const away = (own: Database): Database => ({
    ...own,
    row: async (statement) => {
      if (statement.render().text.includes("watch_run") && --failures >= 0)
        throw new DatabaseUnavailable("the database is away", 1000)
      return own.row(statement)
    },
  })
  await using former = await startTestServer(db, { wrapDb: away })
  await using it = await takenOver(db, former)
  const { client, runId, second } = it
  await former.executor.renew()
  const hasEvent = () => {
    second.emit("values", { from: 2 })
    return client.names.includes("values")
  }
  await until(hasEvent, { what: "an event from the other server" })
  second.done()
  await until(() => client.hasEnded, { what: "the end of the stream" })

  assert.deepEqual(client.events.at(-1)?.data, { run_id: runId, status: "success" })
})

test("clients of a run that another server has ended meanwhile get its events before its end (X5)", async () => {
  await using db = await serverDatabase()
  await using former = await startTestServer(db)
  await using it = await takenOver(db, former)
  const { client, runId, next, second } = it
  second.emit("values", { from: 2 })
  second.done()
  await waitForEnd(next, runId)

  const { renewing } = await db.transaction(async (tx) => {
    // It learns the end of the run before it can read the log.
    await tx.run(sql`lock table run_events in access exclusive mode`)
    const renewing = former.executor.renew()
    await untilBlocked(db)
    return { renewing }
  })
  await renewing
  await until(() => client.hasEnded, { what: "the end of the stream" })

  assert.deepEqual(client.names.slice(-3), ["metadata", "values", "end"])
})

test("clients of a run that is over and whose log has no end yet get its events first (X5, B3)", async () => {
  await using db = await serverDatabase()
  const looked = gate()
  /** The log is read only when it is known that it has no end. */
  const reading = (own: Database): Database => ({
    ...own,
    rows: async <Row extends object>(statement: Sql) => {
      if (statement.render().text.includes("from run_events")) await looked.opened
      return own.rows<Row>(statement)
    },
    row: async <Row extends object>(statement: Sql) => {
      const row = await own.row<Row>(statement)
      if (row && "event" in row) looked.open()
      return row
    },
  })
  await using former = await startTestServer(db, { wrapDb: reading })
  await using it = await takenOver(db, former)
  const { client, runId, next, second } = it
  second.emit("values", { from: 2 })
  second.done({ status: "error", error: { error: "ValueError", message: "no" } })
  await waitForEnd(next, runId)
  await db.run(sql`delete from run_events where run_id = ${runId} and event in ('error', 'end')`)

  await former.executor.renew()
  await looked.opened
  const ends = new OverdueEnds()
  const sweep = () => ends.announceMissingEnds({ db: former.db, streams: former.streams, log: silent })
  await until(() => client.names.includes("values"), { what: "the events of the other server" })
  await sweep()
  await sweep()
  await until(() => client.hasEnded, { what: "the end of the stream" })

  assert.deepEqual(client.names, ["metadata", "metadata", "values", "error", "end"])
})

test("a server that stops before it knows of its last commits gives its clients what the log has of them (X5)", async () => {
  let isLosing = false
  const losing = (own: Database): Database => ({
    ...own,
    rows: async <Row extends object>(statement: Sql) => {
      const rows = await own.rows<Row>(statement)
      if (isLosing && statement.render().text.includes("commit_attempts"))
        throw new DatabaseUnavailable("the answer is lost", 1000)
      return rows
    },
  })
  await using server = await freshServer({ wrapDb: losing })
  const client = new Listening()
  const { runId } = await addRun(server, { subscriber: client, stream_resumable: true })
  const run = await attemptOf(server, runId)
  run.emit("values", { n: 1 })
  await until(() => client.names.includes("values"), { what: "the first event" })

  isLosing = true
  server.journal.close()
  run.emit("values", { n: 2 })
  run.done({ status: "error", error: { error: "ValueError", message: "no" } })
  await until(() => client.hasEnded, { what: "the end of the stream" })

  const logged = await server.db.rows<{ seq: number; event: string }>(
    sql`select seq, event from run_events where run_id = ${runId} order by seq`,
  )
  assert.deepEqual(fieldsOf(logged, "event"), ["metadata", "values", "values", "error", "end"])
  assert.deepEqual(client.names, fieldsOf(logged, "event"))
  assert.deepEqual(fieldsOf(client.events, "id"), fieldsOf(logged, "seq").map(String))
})

test("a client that joins a run at the moment of its end gets the end (B3)", async () => {
  await using server = await freshServer({ slots: 0 })
  const { runId } = await addRun(server)

  const { watching } = await server.db.transaction(async (tx) => {
    await tx.run(sql`update runs set status = 'success' where run_id = ${runId}`)
    const watching = watchRun(server.db, runId, server.claimer.serverId)
    await untilBlocked(server.db)
    return { watching }
  })

  assert.equal(await watching, "success")
})

/** A client that also accepts the result, like one that waits for the run. */
class Waiting extends Listening {
  override accepts(): boolean {
    return true
  }
}

/** A client of another server joins a run, and the message about it is lost. */
async function joinUnheard(from: TestServer, threadId: string, runId: string): Promise<Waiting> {
  const client = new Waiting()
  const { announceWatched } = from.streams
  from.streams.announceWatched = () => undefined
  await joinRun(from, { threadId, runId, subscriber: client, after: undefined })
  from.streams.announceWatched = announceWatched
  return client
}

test("a server that learns of a watcher at the renewal notifies it of each event (X4, B8)", async () => {
  await using db = await serverDatabase()
  await using owner = await startTestServer(db)
  await using other = await startTestServer(db, { slots: 0, eventSweepMs: never })
  const { threadId, runId } = await addRun(owner)
  const execution = await attemptOf(owner, runId)
  const client = await joinUnheard(other, threadId, runId)

  await owner.executor.renew()
  execution.emit("custom", "after")

  await until(() => client.names.includes("custom"), { what: "the event at the other server" })
})

test("a stateless run's result reaches a client at another server that becomes known only at the end (B3)", async () => {
  await using db = await serverDatabase()
  await using owner = await startTestServer(db)
  await using other = await startTestServer(db, { slots: 0, eventSweepMs: never, sweepMs: never })
  const run = await createRun(owner, { threadId: undefined, body: body() })
  const execution = await attemptOf(owner, run.run_id)
  const client = await joinUnheard(other, run.thread_id, run.run_id)

  execution.done({ values: '{"n":2}' })
  await until(() => client.hasEnded, { what: "the end of the stream" })

  assert.deepEqual(client.names, ["result", "end"])
})

test("a run that waited at the server of its only client is not logged (B1)", async () => {
  await using server = await freshServer({ slots: 1 })
  const first = await addRun(server)
  const client = new Listening()
  const { runId } = await addRun(server, { on: first.threadId, subscriber: client })

  ;(await attemptOf(server, first.runId)).done()
  ;(await attemptOf(server, runId)).done()
  await until(() => client.hasEnded, { what: "the end of the stream" })

  const logged = await server.db.row<{ n: number }>(sql`select count(*) as n from run_events where run_id = ${runId}`)
  assert.equal(logged?.n, 0)
  assert.deepEqual(client.names, ["metadata", "end"])
})

for (const action of ["interrupt", "rollback"] as const) {
  test(`a stateless run that is cancelled while it is pending is deleted completely (${action})`, async () => {
    await using db = await serverDatabase()
    const first = await startTestServer(db)
    const attempted = await createRun(first, { threadId: undefined, body: body() })
    const { claimId } = (await attemptOf(first, attempted.run_id)).order
    const fence = { runId: attempted.run_id, claimId }
    const metadata = JSON.stringify({ run_id: attempted.run_id })
    const saved = checkpoint({ threadId: attempted.thread_id }, "1", { metadata })
    await putCheckpoint(db, fence, saved)
    await putWrites(db, fence, saved, [nodeWrite()])
    await first[Symbol.asyncDispose]()
    await using server = await startTestServer(db, { slots: 0 })
    const fresh = await createRun(server, { threadId: undefined, body: body() })

    for (const { run_id: runId, thread_id: threadId } of [attempted, fresh])
      await cancelRun(server, { threadId, runId, action, wait: true })

    const left = await db.row(sql`
      select (select count(*) from threads) as threads, (select count(*) from runs) as runs,
        (select count(*) from checkpoints) as checkpoints, (select count(*) from checkpoint_writes) as writes,
        (select count(*) from checkpoint_blobs) as blobs`)
    assert.deepEqual(left, { threads: 0, runs: 0, checkpoints: 0, writes: 0, blobs: 0 })
  })
}

test("expired leases count as losses once the run executes alone, hand-backs never do (R5)", async () => {
  await using db = await serverDatabase()
  const first = await startTestServer(db)
  const { threadId, runId } = await addRun(first)
  await attemptOf(first, runId)
  await first[Symbol.asyncDispose]()
  await using server = await startTestServer(db)

  const alone: boolean[] = []
  for (const attempt of [2, 3, 4, 5, 6, 7]) {
    alone.push((await attemptOf(server, runId, attempt)).order.runsAlone)
    await takeBack(db, runId)
  }
  await waitForEnd(server, runId)

  const { attempt, status, error } = await getRun(server, { threadId, runId })
  assert.deepEqual([attempt, status, JSON.parse(error ?? "null").error], [7, "error", "WorkerLost"])
  assert.deepEqual(alone, [false, false, false, true, true, true])
})
