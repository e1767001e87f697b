/** A database that has lost the commits of the last seconds: a test removes what an attempt knows to be committed. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { silent as log } from "@superstep/toolkit/testing/test-cluster"
import { ClaimLost } from "../workers/fence.js"
import type { WritingAttempt } from "./attempt-journal.js"
import { Journal } from "./journal.js"
import { addRun, checkpoint, idsOf, nodeWrite, serverDatabase, type TestRun } from "./testing/claimed-runs.js"

const attemptOf = ({ threadId }: TestRun): WritingAttempt => ({ number: 1, threadId })

const runRow = (db: Db, { runId }: TestRun) =>
  db.row<{ status: string; attempt: number; claim_id: string | null }>(
    sql`select status, attempt, claim_id from runs where run_id = ${runId}`,
  )

test("a checkpoint that would follow a lost one is refused, and the run goes on from what is left (K8)", async () => {
  await using db = await serverDatabase()
  const run = await addRun(db)
  const attempt = new Journal({ db, log }).open(run, attemptOf(run))
  await attempt.putCheckpoint(checkpoint(run, "c1"))
  await attempt.putCheckpoint(checkpoint(run, "c2"))

  await db.run(sql`delete from checkpoints where checkpoint_id = 'c2'`)
  await assert.rejects(attempt.putCheckpoint(checkpoint(run, "c3")), ClaimLost)

  assert.deepEqual(await idsOf(db, run), ["c1"])
  assert.deepEqual(await runRow(db, run), { status: "pending", attempt: 1, claim_id: null })
})

test("so is one after a lost write of a task, and one after a lost event (K8)", async () => {
  await using db = await serverDatabase()
  const [wrote, told] = [await addRun(db), await addRun(db)]
  const journal = new Journal({ db, log })
  const ofWriter = journal.open(wrote, attemptOf(wrote))
  const address = { threadId: wrote.threadId, checkpointNs: "", checkpointId: "c1" }
  await ofWriter.putWrites(address, [nodeWrite()])
  const ofTeller = journal.open(told, attemptOf(told))
  ofTeller.noteLogged(7)

  await db.run(sql`delete from checkpoint_writes`)
  await assert.rejects(ofWriter.putCheckpoint(checkpoint(wrote, "c2")), ClaimLost)
  await assert.rejects(ofTeller.putCheckpoint(checkpoint(told, "c2")), ClaimLost)

  for (const run of [wrote, told]) assert.equal((await runRow(db, run))?.status, "pending")
})

test("an attempt whose claim is lost keeps its number: the next one has a higher one (K8)", async () => {
  await using db = await serverDatabase()
  const [waiting, claimedAgain] = [await addRun(db), await addRun(db)]
  const journal = new Journal({ db, log })
  const attempts = [waiting, claimedAgain].map((run) => journal.open(run, attemptOf(run)))

  await db.run(sql`update runs set status = 'pending', attempt = 0, claim_id = null where run_id = ${waiting.runId}`)
  await db.run(sql`update runs set attempt = 1, claim_id = gen_random_uuid() where run_id = ${claimedAgain.runId}`)
  for (const [n, run] of [waiting, claimedAgain].entries())
    await assert.rejects(attempts[n]?.putCheckpoint(checkpoint(run, "c1")) ?? Promise.resolve(), ClaimLost)

  for (const run of [waiting, claimedAgain])
    assert.deepEqual(await runRow(db, run), { status: "pending", attempt: 1, claim_id: null })
})

test("events that would follow a lost one are left out, those of other runs are logged (K8)", async () => {
  await using db = await serverDatabase()
  const [run, other] = [await addRun(db), await addRun(db)]
  const journal = new Journal({ db, log })
  const logged: string[] = []
  const [attempt, neighbour] = [run, other].map((one) => {
    const opened = journal.open(one, attemptOf(one))
    opened.whenLogged = (events) => logged.push(...events.map(({ seq }) => `${one.runId} ${seq}`))
    return opened
  })
  const event = (seq: number) => ({ seq, event: "custom", data: "{}" })
  for (const one of [attempt, neighbour]) one?.log(event(0))
  await Promise.all([attempt?.settled(), neighbour?.settled()])

  await db.run(sql`delete from run_events where run_id = ${run.runId}`)
  for (const one of [attempt, neighbour]) one?.log(event(1))
  await Promise.all([attempt?.settled(), neighbour?.settled()])

  assert.deepEqual(logged, [`${run.runId} 0`, `${other.runId} 0`, `${other.runId} 1`])
})
