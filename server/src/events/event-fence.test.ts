import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { LockTimeout } from "@superstep/toolkit/db/unavailable"
import { serverDatabase } from "../testing/test-server.js"
import { untilBlocked } from "../testing/until-blocked.js"
import { firstSeq, lastSeq } from "./event.js"
import { appendLateEvents, pageOfRun, pageOfThread } from "./queries.js"

async function addRun(db: Db, attempt: number): Promise<string> {
  const [threadId, runId] = [randomUUID(), randomUUID()]
  await db.run(sql`insert into threads (thread_id) values (${threadId})`)
  await db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, attempt)
    values (${runId}, ${threadId}, ${randomUUID()}, 'agent', 'pending', '{}', '{}', 'enqueue', ${attempt})`)
  return runId
}

function append(db: Db, runId: string, ...seqs: number[]) {
  const events = seqs.map((seq) => ({ runId, seq, event: seq === lastSeq ? "end" : "values", data: "{}" }))
  return appendLateEvents(db, runId, events)
}

const logged = async (db: Db, runId: string) => (await pageOfRun(db, runId, -1)).events.map(({ seq }) => seq)

test("events of an ended attempt are no longer logged, nor those after an end that no attempt wrote; those of other runs are, and the end of a deleted one (R4)", async () => {
  await using db = await serverDatabase()
  const [moved, other] = [await addRun(db, 2), await addRun(db, 1)]

  await append(db, moved, firstSeq(1) + 7, firstSeq(2), firstSeq(2) + 1)
  await append(db, other, 0, 1)

  assert.deepEqual(await logged(db, moved), [firstSeq(2), firstSeq(2) + 1])
  assert.deepEqual(await logged(db, other), [0, 1])

  const [over, gone] = [await addRun(db, 3), randomUUID()]

  await append(db, over, firstSeq(3), lastSeq)
  await append(db, over, firstSeq(3) + 1)
  await append(db, gone, lastSeq)

  assert.deepEqual(await logged(db, over), [firstSeq(3), lastSeq])
  assert.deepEqual(await logged(db, gone), [lastSeq])
})

test("the end of a run waits for a lock on the run no longer than it may, and is logged afterwards", async () => {
  await using db = await serverDatabase()
  const runId = await addRun(db, 1)
  const end = { runId, seq: lastSeq, event: "end", data: "{}" }

  await db.transaction(async (tx) => {
    await tx.row(sql`select from runs where run_id = ${runId} for update`)
    await assert.rejects(appendLateEvents(db, runId, [end], 10), LockTimeout)
  })
  await append(db, runId, lastSeq)

  assert.deepEqual(await logged(db, runId), [lastSeq])
  assert.deepEqual(await db.row(sql`select current_setting('lock_timeout') as ms`), { ms: "0" })
})

test("events of a thread become visible in the order of their positions (G8)", async () => {
  await using db = await serverDatabase()
  const executing = await addRun(db, 1)
  const threadId = (await db.row<{ thread_id: string }>(sql`select thread_id from runs`))?.thread_id ?? ""
  const waiting = randomUUID()
  await db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy)
    values (${waiting}, ${threadId}, ${randomUUID()}, 'agent', 'interrupted', '{}', '{}', 'enqueue')`)
  const visible = async () => (await pageOfThread(db, threadId, -1)).events.map(({ runId, seq }) => `${runId} ${seq}`)
  let isDone = false

  const [other, before] = await db.transaction(async (tx) => {
    await append(tx, executing, 0, 1)
    const late = append(db, waiting, lastSeq).then(() => {
      isDone = true
    })
    await untilBlocked(db)
    return [{ late }, { isDone, visible: await visible() }]
  })
  await other.late

  assert.deepEqual(before, { isDone: false, visible: [] })
  assert.deepEqual(await visible(), [`${executing} 0`, `${executing} 1`, `${waiting} ${lastSeq}`])
})
