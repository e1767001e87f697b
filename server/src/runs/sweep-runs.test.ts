/** Runs that ended long ago are deleted in steps, by one server at a time; their threads keep state and checkpoints. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { rowsRead } from "../testing/rows-read.js"
import { serverDatabase } from "../testing/test-server.js"
import { beforeAllRuns, deleteEndedRuns } from "./queries.js"
import { runSweep } from "./sweep-runs.js"

const thread = "00000000-0000-0000-0000-000000000001"
const other = "00000000-0000-0000-0000-000000000002"

interface Runs {
  readonly count?: number
  readonly days: number
  readonly status?: string
  readonly threadId?: string
}

/** Adds `count` runs of one thread that ended, or were last changed, `days` days ago. */
const addRuns = (db: Db, { count = 1, days, status = "success", threadId = thread }: Runs) =>
  db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, updated_at)
    select gen_random_uuid(), ${threadId}::uuid, gen_random_uuid(), 'agent', ${status}, '{}', '{}', 'enqueue',
      now() - make_interval(days => ${days}::int, mins => n)
    from generate_series(1, ${count}::int) n`)

const agesOf = async (db: Db) => {
  const rows = await db.rows<{ age: number; status: string }>(sql`
    select extract(day from now() - updated_at)::int as age, status from runs order by updated_at, status`)
  return rows.map(({ age, status }) => `${status} ${age}`)
}

async function database() {
  const db = await serverDatabase()
  await db.run(sql`insert into threads (thread_id, values) values (${thread}, '{"n": 1}'), (${other}, null)`)
  return db
}

test("runs are deleted after the configured days, except the newest of a thread; without the setting all are kept", async () => {
  await using db = await database()
  for (const status of ["success", "error", "timeout", "interrupted", "pending"]) await addRuns(db, { days: 8, status })
  await addRuns(db, { days: 6 })
  await addRuns(db, { days: 9, threadId: other })
  await addRuns(db, { days: 8, threadId: other })

  while (await runSweep(db, 7)?.step());

  assert.deepEqual(await agesOf(db), ["pending 8", "success 8", "success 6"])
  const kept = await db.row(sql`select values::text from threads where thread_id = ${thread}`)
  assert.deepEqual(kept, { values: '{"n": 1}' })
  assert.equal(runSweep(db, 0), undefined)
})

test("a step reads a limited number of the oldest runs, and few other rows", async () => {
  await using db = await database()
  await addRuns(db, { count: 3000, days: 10 })
  await addRuns(db, { count: 3000, days: 1 })
  await db.run(sql`analyze runs`)

  const read = await db.transaction((tx) =>
    rowsRead(tx, "runs", () => deleteEndedRuns(tx, { keepDays: 7, after: beforeAllRuns, limit: 500 })),
  )

  assert.ok(read <= 2500, `${read} rows read`)
  assert.deepEqual(await db.row(sql`select count(*) as left from runs`), { left: 5500 })
})

test("a sweep skips kept runs, and starts again when it has seen all", async () => {
  await using db = await database()
  await addRuns(db, { count: 2500, days: 10 })
  const sweep = runSweep(db, 7)

  const steps = [await sweep?.step(), await sweep?.step(), await sweep?.step()]
  await addRuns(db, { days: 9 })
  const again = await sweep?.step()

  assert.deepEqual([...steps, again], [true, true, false, false])
  assert.deepEqual(await agesOf(db), ["success 9"])
})

test("while one server sweeps, other servers skip the sweep", async () => {
  await using db = await database()
  await addRuns(db, { count: 4, days: 10 })
  const sweep = { keepDays: 7, after: beforeAllRuns, limit: 2 }

  await db.transaction(async (tx) => {
    await deleteEndedRuns(tx, sweep)
    await deleteEndedRuns(db, { ...sweep, limit: 10 })
  })

  assert.deepEqual(await db.row(sql`select count(*) as left from runs`), { left: 3 })
})
