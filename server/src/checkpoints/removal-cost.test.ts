/** Reading, deleting from and pruning a long thread with delta channels reads a few rows for each of its checkpoints. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { identifier, sql } from "@superstep/toolkit/db/sql"
import { deleteRun, hasAppliedInput } from "../runs/queries.js"
import { rowsRead } from "../testing/rows-read.js"
import { serverDatabase } from "../testing/test-server.js"
import { keepLatestCheckpoints } from "../threads/queries.js"
import { findDeltaHistory } from "./ancestor-queries.js"
import { DeltaThread } from "./testing/delta-thread.js"

const steps = 200
const tables = ["checkpoints", "checkpoint_blobs", "checkpoint_writes"]

async function readOf(db: Database, work: (tx: Db) => Promise<unknown>): Promise<number> {
  return db.transaction(async (tx) => {
    let inner = work
    const counts: number[] = []
    for (const table of tables) {
      const next = inner
      inner = async (each) => void counts.push(await rowsRead(each, table, () => next(each)))
    }
    await inner(tx)
    return counts.reduce((sum, count) => sum + count, 0)
  })
}

/** Half of the steps write to `messages`; nothing is stored, so the newest is rebuilt from the root on. */
async function longThread(db: Database) {
  const thread = await DeltaThread.create(db)
  const runIds = [await thread.addRun(), await thread.addRun(), await thread.addRun()]
  const id = (n: number) => String(1000 + n)
  for (let n = 0; n < steps; n++) {
    const runId = runIds[n < 180 ? 0 : n < 190 ? 1 : 2] ?? ""
    const parent = n === 0 ? {} : { parent: id(n - 1) }
    await thread.add({ id: id(n), ...parent, runId, ...(n % 2 === 0 && { adds: { messages: "x" } }) })
  }
  return { threadId: thread.threadId, middle: runIds[1] ?? "", newest: id(steps - 1) }
}

/** Copies of a thread under other ids: Postgres would scan a table of only two pages. */
async function addOthers(db: Database, threadId: string): Promise<void> {
  const others = sql`(select 'other ' || n as thread_id from generate_series(1, 40) as n)`
  for (const table of tables.map(identifier)) {
    await db.run(sql`
      insert into ${table}
      select (jsonb_populate_record(copied, to_jsonb(others))).*
      from ${table} as copied, ${others} as others where copied.thread_id = ${threadId}`)
  }
}

async function rowsPerStep(db: Database, { threadId, middle, newest }: Awaited<ReturnType<typeof longThread>>) {
  const place = { threadId, checkpointNs: "", checkpointId: newest, channels: ["messages", "files"] }
  const input = await readOf(db, async (tx) => assert.equal(await hasAppliedInput(tx, threadId, randomUUID()), false))
  assert.equal(input, 0, "whether a run has saved its input is known without reading the thread")
  const history = await readOf(db, (tx) => findDeltaHistory(tx, place))
  const deletion = await readOf(db, (tx) => deleteRun(tx, threadId, middle))
  const pruning = await readOf(db, (tx) => keepLatestCheckpoints(tx, threadId))
  return [history, deletion, pruning].map((count) => Math.ceil(count / steps))
}

test("a read, a deletion and a pruning read a few rows for each checkpoint, with any statistics of the planner", async () => {
  await using db = await serverDatabase()
  const analyze = () => db.run(sql`analyze checkpoints, checkpoint_blobs, checkpoint_writes`)

  const unknown = await longThread(db)
  await addOthers(db, unknown.threadId)
  const withoutStatistics = await rowsPerStep(db, unknown)
  await analyze()
  const withThoseOfOthers = await rowsPerStep(db, await longThread(db))
  const known = await longThread(db)
  await analyze()
  const withStatistics = await rowsPerStep(db, known)

  // The measured maximum is 21. A lookup without a key reads 45 or more, growing with the thread.
  const all = { withoutStatistics, withThoseOfOthers, withStatistics }
  assert.ok(Math.max(...Object.values(all).flat()) <= 25, JSON.stringify(all))
})
