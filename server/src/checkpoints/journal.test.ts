import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { SimulatedClock } from "@superstep/toolkit/testing/simulation/simulated-clock"
import { silent as log } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { ClaimLost } from "../workers/fence.js"
import { checkpointCalls } from "./calls.js"
import { Journal } from "./journal.js"
import { findCheckpoints } from "./queries.js"
import {
  addRun,
  checkpoint,
  ending,
  gate,
  idsOf,
  openAttempt,
  serverDatabase,
  statusOf,
  watched,
} from "./testing/claimed-runs.js"

test("writes that arrive during a batch join the next one, in order (K1, K2)", async () => {
  await using opened = await openAttempt()
  const { db, told, run, attempt } = opened
  const committed: string[] = []

  const first = attempt.putCheckpoint(checkpoint(run, "a")).then(() => committed.push("a"))
  await until(() => told.statements === 1, { what: "the first batch" })
  const rest = ["b", "c", "d"].map((id) => attempt.putCheckpoint(checkpoint(run, id)).then(() => committed.push(id)))
  const written = await attempt.finish(() => ending(run))
  await Promise.all([first, ...rest])

  assert.equal(told.statements, 2)
  assert.deepEqual(committed, ["a", "b", "c", "d"])
  assert.deepEqual(await idsOf(db, run), ["d", "c", "b", "a"])
  assert.equal(written.outcome, "finished")
  assert.equal(await statusOf(db, run), "success")
})

test("concurrent writes of runs share a statement, and a lost claim does not affect the others (K3, K5)", async () => {
  await using db = await serverDatabase()
  const { told, db: counted } = watched(db)
  const journal = new Journal({ db: counted, log })
  const [one, other] = [await addRun(db), await addRun(db)]
  const stale = { ...one, claimId: randomUUID() }
  const oneAttempt = journal.open(one)
  const staleAttempt = journal.open(stale)
  const otherAttempt = journal.open(other)

  const results = await Promise.allSettled([
    oneAttempt.putCheckpoint(checkpoint(one, "a")),
    staleAttempt.putCheckpoint(checkpoint(one, "stale")),
    otherAttempt.putCheckpoint(checkpoint(other, "a")),
  ])
  const lost = await staleAttempt.finish(() => ending(one))

  assert.equal(told.statements, 1)
  assert.deepEqual(fieldsOf(results, "status"), ["fulfilled", "rejected", "fulfilled"])
  assert.ok(results[1]?.status === "rejected" && results[1].reason instanceof ClaimLost)
  assert.equal(lost.outcome, "claim_lost")
  assert.deepEqual(await idsOf(db, one), ["a"])
  assert.equal(await statusOf(db, one), "running")
})

test("a write that Postgres rejects fails only its own run, whose end gets the error (K3)", async () => {
  await using db = await serverDatabase()
  const journal = new Journal({ db, log })
  const [good, bad] = [await addRun(db), await addRun(db)]
  const goodAttempt = journal.open(good)
  const badAttempt = journal.open(bad)
  let told: Error | undefined

  const results = await Promise.allSettled([
    goodAttempt.putCheckpoint(checkpoint(good, "a")),
    badAttempt.putCheckpoint(checkpoint(bad, "a")),
    badAttempt.putCheckpoint(checkpoint(bad, "b", { metadata: "not JSON" })),
    badAttempt.putCheckpoint(checkpoint(bad, "c")),
    badAttempt.finish((failure) => {
      told = failure
      return ending(bad, { status: "error" })
    }),
  ])

  assert.deepEqual(fieldsOf(results, "status"), ["fulfilled", "fulfilled", "rejected", "rejected", "fulfilled"])
  assert.match(String(told), /json/i)
  assert.deepEqual(await idsOf(db, good), ["a"])
  assert.deepEqual(await idsOf(db, bad), ["a"], "nothing is saved behind a hole")
  assert.equal(await statusOf(db, bad), "error")
})

test("writes wait while the database is unavailable, and an end may have been committed although its response was lost (K4)", async () => {
  await using opened = await openAttempt()
  const { db, told, run, attempt } = opened
  told.failures = 2

  const saved = attempt.putCheckpoint(checkpoint(run, "a"))
  const written = await attempt.finish(() => ending(run))
  await saved

  assert.deepEqual(await idsOf(db, run), ["a"])
  assert.equal(written.outcome, "finished")
  assert.equal(written.isRepeated, true)
})

test("writes that may wait are sent when no end follows, and a short run commits once, with its end (K6)", async () => {
  await using opened = await openAttempt()
  const { db, told, run, attempt } = opened
  const mayWait = { mayWait: true }

  await attempt.putCheckpoint(checkpoint(run, "a"), mayWait)
  const [alone, savedAlone] = [told.statements, await idsOf(db, run)]
  const saved = ["b", "c"].map((id) => attempt.putCheckpoint(checkpoint(run, id), mayWait))
  await new Promise((resolve) => setImmediate(resolve))
  const [before, written] = [told.statements, await attempt.finish(() => ending(run))]
  await Promise.all(saved)

  assert.deepEqual([alone, savedAlone, before, told.statements], [1, ["a"], 1, 2])
  assert.equal(written.outcome, "finished")
  assert.deepEqual(await idsOf(db, run), ["c", "b", "a"])
})

test("a stateless run's end omits writes of its own thread, but not those of other threads", async () => {
  await using db = await serverDatabase()
  const journal = new Journal({ db, log })
  const [run, memory] = [await addRun(db), await addRun(db)]
  const attempt = journal.open(run)
  await db.run(sql`update runs set delete_thread_on_completion = true where run_id = ${run.runId}`)

  const saved = attempt.putCheckpoint(checkpoint(memory, "a"), { mayWait: true })
  await attempt.finish(() => ending(run, { deletesThread: true }))
  await saved

  assert.deepEqual(await idsOf(db, memory), ["a"])
})

test("while the database is unavailable, a run's end is abandoned together with its writes (K1)", async () => {
  await using opened = await openAttempt()
  const { db, told, journal, run, attempt } = opened
  told.failures = Number.POSITIVE_INFINITY

  const saved = assert.rejects(attempt.putCheckpoint(checkpoint(run, "a")), DatabaseUnavailable)
  await until(() => told.statements > 0, { what: "a first try" })
  const written = assert.rejects(
    attempt.finish(() => ending(run)),
    DatabaseUnavailable,
  )
  journal.close()
  await Promise.all([saved, written])

  assert.equal(await statusOf(db, run), "running")
})

test("a caller that writes faster than the database is told to wait (K7)", async () => {
  await using opened = await openAttempt()
  const { told, journal, run, attempt } = opened
  told.failures = 1
  const large = Buffer.alloc(40 * 1024 * 1024, "x")
  const blobs = [{ channel: "messages", version: "a", type: "bytes", bytes: large }]

  const before = journal.backlog()
  const saved = attempt.putCheckpoint(checkpoint(run, "a", { blobs }))
  const wait = journal.backlog()
  await saved
  await wait

  assert.equal(before, undefined)
  assert.notEqual(wait, undefined)
  assert.equal(journal.backlog(), undefined)
})

test("a write after the end of its attempt is rejected, also during a batch, and takes no space (K5, K7)", async () => {
  await using opened = await openAttempt()
  const { db, told, journal, run, attempt } = opened
  const answers = gate()
  told.answered = answers.opened

  const underWay = attempt.putCheckpoint(checkpoint(run, "a"))
  await until(() => told.statements === 1, { what: "the batch is sent" })
  attempt.close()
  const blobs = [{ channel: "messages", version: "b", type: "bytes", bytes: Buffer.alloc(40 * 1024 * 1024, "x") }]
  const late = attempt.putCheckpoint(checkpoint(run, "b", { blobs }))
  const refused = assert.rejects(late, ClaimLost)
  answers.open()
  await underWay
  await refused

  assert.equal(journal.backlog(), undefined)
  assert.throws(() => journal.of(run), ClaimLost)
  assert.deepEqual(await idsOf(db, run), ["a"])
})

test("a run that takes its thread with it writes nothing that is still waiting when it ends (K6)", async () => {
  await using db = await serverDatabase()
  const { told, db: counted } = watched(db)
  const journal = new Journal({ db: counted, log, clock: new SimulatedClock() })
  const run = await addRun(db)
  await db.run(sql`update runs set delete_thread_on_completion = true where run_id = ${run.runId}`)
  const opening = { number: 1, threadId: run.threadId, deletesThread: true }
  const attempt = journal.open(run, opening)
  const other = await addRun(db)
  const otherAttempt = journal.open(other)

  const put = attempt.putCheckpoint(checkpoint(run, "a"), { mayWait: true })
  await otherAttempt.putCheckpoint(checkpoint(other, "b"))
  const savedBefore = await idsOf(db, run)
  const written = await attempt.finish(() => ending(run, { deletesThread: true }))
  await put

  assert.deepEqual(savedBefore, [], "it does not join the batch of another run")
  assert.equal(written.outcome, "finished")
  assert.equal(told.statements, 2)
  const left = await db.row<{ n: number }>(
    sql`select (select count(*) from checkpoint_blobs) + (select count(*) from runs where run_id = ${run.runId}) as n`,
  )
  assert.equal(left?.n, 1, "only the value of the other run")
})

test("what goes with its run is written before the run ends: after a while, for a reader, or when it is much (K6, K7)", async () => {
  await using db = await serverDatabase()
  const clock = new SimulatedClock()
  const journal = new Journal({ db, log, clock })
  const opened = async () => {
    const run = await addRun(db)
    const opening = { number: 1, threadId: run.threadId, deletesThread: true }
    return { run, attempt: journal.open(run, opening) }
  }
  const [later, read, large, other] = [await opened(), await opened(), await opened(), await opened()]
  const elsewhere = await addRun(db)
  const mayWait = { mayWait: true }
  const bytes = Buffer.from(JSON.stringify("x".repeat(1024 * 1024)))

  const put = later.attempt.putCheckpoint(checkpoint(later.run, "a"), mayWait)
  assert.deepEqual(await idsOf(db, later.run), [])
  void read.attempt.putCheckpoint(checkpoint(read.run, "a"), mayWait)
  await journal.flush(read.run.threadId)
  assert.deepEqual(await idsOf(db, read.run), ["a"])
  const blobs = [{ channel: "messages", version: "a", type: "json", bytes }]
  await large.attempt.putCheckpoint(checkpoint(large.run, "a", { blobs }), mayWait)
  const putElsewhere = other.attempt.putCheckpoint(checkpoint(elsewhere, "a"), mayWait)
  await clock.pass(100)
  await Promise.all([put, putElsewhere])

  assert.deepEqual(await idsOf(db, later.run), ["a"])
  const goWithRun = [large, other].map(({ attempt, run }) => attempt.goesWithRun(run.threadId))
  assert.deepEqual(goWithRun, [true, true])
  assert.equal(other.attempt.goesWithRun(elsewhere.threadId), false)
})

test("a write that goes with its run is answered before it is committed, and a read of the worker finds it (K6)", async () => {
  await using db = await serverDatabase()
  const journal = new Journal({ db, log, clock: new SimulatedClock() })
  const { threadId, runId, claimId } = await addRun(db)
  const opening = { number: 1, threadId, deletesThread: true }
  const attempt = journal.open({ runId, claimId }, opening)
  const calls = checkpointCalls({ db, journal })
  const place = { thread_id: threadId, checkpoint_ns: "", checkpoint_id: "a" }
  const lines = ["{}", "{}"].map((text) => Buffer.from(text))

  await calls["checkpoint.put"]?.({ ...place, run_id: runId, claim_id: claimId, blobs: [], may_wait: true }, lines)
  const before = await findCheckpoints(db, { threadId, checkpointNs: "" })
  const { fields: reply } = (await calls["checkpoint.get"]?.(place, [])) ?? {}

  assert.deepEqual(before, [])
  assert.ok(reply && "tuple" in reply)
  attempt.close()
})

test("an attempt keeps its input once a checkpoint after that of the input is saved", async () => {
  await using opened = await openAttempt({ number: 1 })
  const { run, attempt } = opened
  const write = { taskId: "t", taskPath: "", idx: 0, channel: "count", type: "json", bytes: Buffer.from("1") }
  const put = (id: string, source: string) =>
    attempt.putCheckpoint(checkpoint(run, id, { metadata: JSON.stringify({ source, note: "input" }) }))

  const kept = [attempt.keepsInput]
  await put("a", "input")
  await attempt.putWrites({ threadId: run.threadId, checkpointNs: "", checkpointId: "a" }, [write])
  kept.push(attempt.keepsInput)
  await put("b", "loop")
  kept.push(attempt.keepsInput)

  assert.deepEqual(kept, [false, false, true])
})
