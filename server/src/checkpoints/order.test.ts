/** What is newest follows the order in which checkpoints were saved, whatever the clocks of the workers say (C8). */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { uuid6 } from "@langchain/langgraph-checkpoint"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { copyCheckpoints } from "../threads/copy-queries.js"
import { keepLatestCheckpoints } from "../threads/queries.js"
import { findDeltaHistory } from "./ancestor-queries.js"
import { findCheckpoints, putCheckpoint } from "./queries.js"
import { checkpoint, serverDatabase } from "./testing/claimed-runs.js"

/** An id as LangGraph makes it on a machine whose clock is wrong by this many milliseconds. */
function idAt(offsetMs: number): string {
  const real = Date.now
  Date.now = () => real() + offsetMs
  try {
    return uuid6(0)
  } finally {
    Date.now = real
  }
}

/** Three turns on one thread: the first by a machine whose clock is two seconds ahead of that of the others. */
async function threeTurns(db: Database) {
  const threadId = randomUUID()
  await db.run(sql`insert into threads (thread_id) values (${threadId})`)
  const ids: string[] = []
  for (const offsetMs of [2000, 0, 0]) {
    const checkpointId = idAt(offsetMs)
    await putCheckpoint(
      db,
      undefined,
      checkpoint({ threadId }, checkpointId, { parentCheckpointId: ids.at(-1) ?? null }),
    )
    ids.push(checkpointId)
  }
  assert.ok((ids[0] ?? "") > (ids[1] ?? ""), "the clocks differ by more than the turns take")
  return { threadId, ids }
}

const newestOf = async (db: Database, threadId: string) =>
  (await findCheckpoints(db, { threadId, checkpointNs: "", limit: 1 }))[0]?.checkpointId

test("the newest checkpoint is the one that was saved last, and a history goes back from it", async () => {
  await using db = await serverDatabase()
  const { threadId, ids } = await threeTurns(db)
  const [first, second, third] = ids

  const history = await findCheckpoints(db, { threadId, checkpointNs: "" })
  const all = await findCheckpoints(db, { threadId })
  const before = await findCheckpoints(db, { threadId, checkpointNs: "", before: second })
  const head = await findDeltaHistory(db, {
    threadId,
    checkpointNs: "",
    checkpointId: undefined,
    channels: ["messages"],
  })

  for (const found of [history, all]) assert.deepEqual(fieldsOf(found, "checkpointId"), [third, second, first])
  assert.equal(await newestOf(db, threadId), third)
  assert.deepEqual(fieldsOf(before, "checkpointId"), [first])
  assert.equal(head?.stored[0]?.version, second)
})

test("pruning keeps the checkpoint that was saved last, and a copy has the order of its original", async () => {
  await using db = await serverDatabase()
  const { threadId, ids } = await threeTurns(db)
  const copyId = randomUUID()

  await (await copyCheckpoints(db, threadId, copyId))?.(db, "{}")
  await keepLatestCheckpoints(db, threadId)
  const kept = await findCheckpoints(db, { threadId })
  const copied = await findCheckpoints(db, { threadId: copyId })

  assert.deepEqual(fieldsOf(kept, "checkpointId"), ids.slice(-1))
  assert.deepEqual(copied.map(({ checkpointId }) => checkpointId).toReversed(), ids)
})

test("checkpoints of a release before are in the order of their ids, and all others come after them", async () => {
  await using db = await serverDatabase()
  const { threadId, ids } = await threeTurns(db)
  await db.run(sql`update checkpoints set seq = 0 where checkpoint_id <> ${ids[2]}`)

  const history = await findCheckpoints(db, { threadId, checkpointNs: "" })
  const before = await findCheckpoints(db, { threadId, checkpointNs: "", before: ids[0] })

  assert.deepEqual(fieldsOf(history, "checkpointId"), [ids[2], ids[0], ids[1]])
  assert.deepEqual(fieldsOf(before, "checkpointId"), [ids[1]])
})

test("what a subgraph had saved before a checkpoint of its parent is found by ids", async () => {
  await using db = await serverDatabase()
  const threadId = randomUUID()
  const [early, parent, late] = [1, 2, 3].map((n) => idAt(n * 1000))
  const put = (checkpointNs: string, checkpointId = "") =>
    putCheckpoint(db, undefined, checkpoint({ threadId }, checkpointId, { checkpointNs }))
  await put("sub", early)
  await put("sub", late)
  // With the durability `exit` a parent is saved after its subgraphs, with the id of the time when its step began.
  await put("", parent)

  const [found] = await findCheckpoints(db, { threadId, checkpointNs: "sub", before: parent, limit: 1 })

  assert.equal(found?.checkpointId, early)
})
