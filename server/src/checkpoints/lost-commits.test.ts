/** A database that has lost the commits of the last seconds: a test removes what an attempt knows to be committed. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { createLog } from "@superstep/toolkit/log/log"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { appendEvents } from "../events/queries.js"
import { ClaimLost, type Fence } from "../workers/fence.js"
import type { NewCheckpoint } from "./checkpoint.js"
import { ClaimWrites } from "./claim-writes.js"
import { findCheckpoints } from "./queries.js"

const migrations = fileURLToPath(new URL("../../src/migrations", import.meta.url))
const log = createLog({ process: "test", level: "silent" })

interface TestRun extends Fence {
  readonly threadId: string
}

/** Executes, in its first attempt. */
async function addRun(db: Db): Promise<TestRun> {
  const [runId, claimId, threadId] = [randomUUID(), randomUUID(), randomUUID()]
  await db.run(sql`insert into threads (thread_id, status) values (${threadId}, 'busy')`)
  await db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, claim_id, attempt)
    values (${runId}, ${threadId}, ${randomUUID()}, 'chat', 'running', '{}', '{}', 'enqueue', ${claimId}, 1)`)
  return { runId, claimId, threadId }
}

const checkpoint = ({ threadId }: TestRun, checkpointId: string): NewCheckpoint => ({
  threadId,
  checkpointNs: "",
  checkpointId,
  parentCheckpointId: null,
  checkpoint: "{}",
  metadata: "{}",
  blobs: [],
})

const idsOf = async (db: Db, { threadId }: TestRun) =>
  (await findCheckpoints(db, { threadId, checkpointNs: "" })).map(({ checkpointId }) => checkpointId)

const runRow = (db: Db, { runId }: TestRun) =>
  db.row<{ status: string; attempt: number; claim_id: string | null }>(
    sql`select status, attempt, claim_id from runs where run_id = ${runId}`,
  )

test("a checkpoint that would follow a lost one is refused, and the run goes on from what is left (K8)", async () => {
  await using db = await freshDatabase({ migrations })
  const run = await addRun(db)
  const attempt = new ClaimWrites({ db, log }).open(run, { attempt: 1, loggedSeq: () => undefined })
  await attempt.putCheckpoint(checkpoint(run, "c1"))
  await attempt.putCheckpoint(checkpoint(run, "c2"))

  await db.run(sql`delete from checkpoints where checkpoint_id = 'c2'`)
  await assert.rejects(attempt.putCheckpoint(checkpoint(run, "c3")), ClaimLost)

  assert.deepEqual(await idsOf(db, run), ["c1"])
  assert.deepEqual(await runRow(db, run), { status: "pending", attempt: 1, claim_id: null })
})

test("so is one after a lost write of a task, and one after a lost event (K8)", async () => {
  await using db = await freshDatabase({ migrations })
  const [wrote, told] = [await addRun(db), await addRun(db)]
  const writes = new ClaimWrites({ db, log })
  const ofWriter = writes.open(wrote, { attempt: 1, loggedSeq: () => undefined })
  const address = { threadId: wrote.threadId, checkpointNs: "", checkpointId: "c1" }
  const write = {
    taskId: randomUUID(),
    taskPath: "",
    idx: 0,
    channel: "messages",
    type: "json",
    bytes: Buffer.from("1"),
  }
  await ofWriter.putWrites(address, [write])
  const ofTeller = writes.open(told, { attempt: 1, loggedSeq: () => 7 })

  await db.run(sql`delete from checkpoint_writes`)
  await assert.rejects(ofWriter.putCheckpoint(checkpoint(wrote, "c2")), ClaimLost)
  await assert.rejects(ofTeller.putCheckpoint(checkpoint(told, "c2")), ClaimLost)

  for (const run of [wrote, told]) assert.equal((await runRow(db, run))?.status, "pending")
})

test("an attempt whose claim is lost keeps its number: the next one has a higher one (K8)", async () => {
  await using db = await freshDatabase({ migrations })
  const [waiting, claimedAgain] = [await addRun(db), await addRun(db)]
  const writes = new ClaimWrites({ db, log })
  const attempts = [waiting, claimedAgain].map((run) => writes.open(run, { attempt: 1, loggedSeq: () => undefined }))

  await db.run(sql`update runs set status = 'pending', attempt = 0, claim_id = null where run_id = ${waiting.runId}`)
  await db.run(sql`update runs set attempt = 1, claim_id = gen_random_uuid() where run_id = ${claimedAgain.runId}`)
  for (const [n, run] of [waiting, claimedAgain].entries())
    await assert.rejects(attempts[n]?.putCheckpoint(checkpoint(run, "c1")) ?? Promise.resolve(), ClaimLost)

  for (const run of [waiting, claimedAgain])
    assert.deepEqual(await runRow(db, run), { status: "pending", attempt: 1, claim_id: null })
})

test("an attempt that was released normally changes nothing of the next one (K5, K8)", async () => {
  await using db = await freshDatabase({ migrations })
  const run = await addRun(db)
  const attempt = new ClaimWrites({ db, log }).open(run, { attempt: 1, loggedSeq: () => undefined })

  const next = randomUUID()
  await db.run(sql`update runs set attempt = 2, claim_id = ${next} where run_id = ${run.runId}`)
  await assert.rejects(attempt.putCheckpoint(checkpoint(run, "c1")), ClaimLost)

  assert.deepEqual(await runRow(db, run), { status: "running", attempt: 2, claim_id: next })
})

test("events that would follow a lost one are left out, those of other runs are logged (K8)", async () => {
  await using db = await freshDatabase({ migrations })
  const [run, other] = [await addRun(db), await addRun(db)]
  const event = ({ runId }: TestRun, seq: number, after?: number) => ({
    runId,
    seq,
    event: "custom",
    data: "{}",
    after,
  })
  await appendEvents(db, [event(run, 0), event(run, 1), event(other, 0)])

  await db.run(sql`delete from run_events where run_id = ${run.runId} and seq = 1`)
  const { refused } = await appendEvents(db, [event(run, 2, 1), event(run, 3, 1), event(other, 1, 0)])

  assert.deepEqual(refused.map(({ runId, seq }) => [runId, seq]).sort(), [
    [run.runId, 2],
    [run.runId, 3],
  ])
})
