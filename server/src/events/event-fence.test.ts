import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { migrations } from "../testing/test-server.js"
import { firstSeq, lastSeq } from "./event.js"
import { appendEvents, eventsAfter } from "./queries.js"

async function addRun(db: Db, attempt: number): Promise<string> {
  const [threadId, runId] = [randomUUID(), randomUUID()]
  await db.run(sql`insert into threads (thread_id) values (${threadId})`)
  await db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, attempt)
    values (${runId}, ${threadId}, ${randomUUID()}, 'agent', 'pending', '{}', '{}', 'enqueue', ${attempt})`)
  return runId
}

const append = (db: Db, runId: string, ...seqs: number[]) =>
  appendEvents(
    db,
    seqs.map((seq) => ({ runId, seq, event: seq === lastSeq ? "end" : "values", data: "{}" })),
  )

const logged = async (db: Db, runId: string) => (await eventsAfter(db, runId, -1, 100)).map(({ seq }) => seq)

test("events of an attempt that is over are not logged any more, and those of other runs are (R4)", async () => {
  await using db = await freshDatabase({ migrations })
  const [moved, other] = [await addRun(db, 2), await addRun(db, 1)]

  await append(db, moved, firstSeq(1) + 7, firstSeq(2), firstSeq(2) + 1)
  await append(db, other, 0, 1)

  assert.deepEqual(await logged(db, moved), [firstSeq(2), firstSeq(2) + 1])
  assert.deepEqual(await logged(db, other), [0, 1])
})

test("nothing is logged behind an end that no attempt wrote; the end of a run that is gone is logged", async () => {
  await using db = await freshDatabase({ migrations })
  const [over, gone] = [await addRun(db, 3), randomUUID()]

  await append(db, over, firstSeq(3), lastSeq)
  await append(db, over, firstSeq(3) + 1)
  await append(db, gone, lastSeq)

  assert.deepEqual(await logged(db, over), [firstSeq(3), lastSeq])
  assert.deepEqual(await logged(db, gone), [lastSeq])
})
