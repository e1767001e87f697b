/** Runs that ended long ago are deleted in steps, by one server at a time; what they left on their threads stays. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { rowsRead } from "../testing/rows-read.js"
import { migrations } from "../testing/test-server.js"
import { deleteEndedRuns } from "./queries.js"
import { runSweep } from "./sweep-runs.js"

const thread = "00000000-0000-0000-0000-000000000001"

/** So many runs of one thread that ended, or were touched last, so many days ago. */
const addRuns = (db: Db, { count = 1, days, status = "success" }: { count?: number; days: number; status?: string }) =>
  db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, updated_at)
    select gen_random_uuid(), ${thread}::uuid, gen_random_uuid(), 'agent', ${status}, '{}', '{}', 'enqueue',
      now() - make_interval(days => ${days}::int, mins => n)
    from generate_series(1, ${count}::int) n`)

const agesOf = async (db: Db) => {
  const rows = await db.rows<{ age: number; status: string }>(sql`
    select extract(day from now() - updated_at)::int as age, status from runs order by updated_at, status`)
  return rows.map(({ age, status }) => `${status} ${age}`)
}

async function database() {
  const db = await freshDatabase({ migrations })
  await db.run(sql`insert into threads (thread_id, values) values (${thread}, '{"n": 1}')`)
  return db
}

test("runs stay for so many days after their end, and for ever unless a number of days is set", async () => {
  await using db = await database()
  for (const status of ["success", "error", "timeout", "interrupted", "pending"]) await addRuns(db, { days: 8, status })
  await addRuns(db, { days: 6 })

  while (await runSweep(db, 7)?.step());

  assert.deepEqual(await agesOf(db), ["pending 8", "success 6"])
  assert.deepEqual(await db.row(sql`select values::text from threads`), { values: '{"n": 1}' })
  assert.equal(runSweep(db, 0), undefined)
})

test("a step takes the oldest, a bounded number, and reads little more than those", async () => {
  await using db = await database()
  await addRuns(db, { count: 3000, days: 10 })
  await addRuns(db, { count: 3000, days: 1 })
  await db.run(sql`analyze runs`)

  const [deleted, read] = await db.transaction(async (tx) => {
    let deleted = 0
    const read = await rowsRead(tx, "runs", async () => {
      deleted = await deleteEndedRuns(tx, 7, 500)
    })
    return [deleted, read]
  })

  assert.equal(deleted, 500)
  assert.ok(read <= 1500, `${read} rows read`)
  assert.deepEqual(await db.row(sql`select count(*) as left from runs`), { left: 5500 })
})

test("while one server sweeps, another one leaves it to that", async () => {
  await using db = await database()
  await addRuns(db, { count: 4, days: 10 })

  const [first, other] = await db.transaction(async (tx) => [
    await deleteEndedRuns(tx, 7, 1),
    await deleteEndedRuns(db, 7, 1),
  ])
  const afterwards = await deleteEndedRuns(db, 7, 10)

  assert.deepEqual([first, other, afterwards], [1, 0, 3])
})
