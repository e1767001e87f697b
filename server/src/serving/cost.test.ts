/** What an activation reads while many threads are paused, and a claim while many runs wait for the other revision. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { within } from "@superstep/toolkit/db/within"
import { claimRuns } from "../runs/claims.js"
import { rowsRead } from "../testing/rows-read.js"
import { serverDatabase } from "../testing/test-server.js"
import { activate } from "./activation.js"

const paused = 5000
// To find, lock and pin it, to find its runs, and to check whether it was paused since.
const maxReadsPerThread = 6

test("an activation reads each of 5,000 paused threads a few times (SV3)", async () => {
  await using db = await serverDatabase()
  await db.run(sql`insert into serving_revisions (revision_id) values ('old')`)
  await db.run(sql`
    insert into threads (thread_id, status) select gen_random_uuid(), 'interrupted' from generate_series(1, ${paused}::int)`)
  await db.run(sql`analyze threads`)
  const unit = { workers: { report: () => ({ graphs: [], failed: [] }) }, graphDefaults: {}, defaultTtl: undefined }

  const read = await db.transaction((tx) =>
    rowsRead(tx, "threads", () =>
      activate({ ...unit, db: within(db, tx), revisionId: "new" }, { thread_pinning: "paused" }),
    ),
  )

  const pinned = await db.rows(sql`select revision_id, count(*) as n from threads group by revision_id`)
  assert.deepEqual(pinned, [{ revision_id: "old", n: paused }])
  assert.ok(read <= paused * maxReadsPerThread, `${read} rows read`)
})

const waiting = 500

/** The number of function calls in this transaction. Functions that Postgres inlined are not counted. */
const callsIn = async (tx: Db): Promise<number> =>
  (await tx.row<{ calls: number }>(sql`select coalesce(sum(calls), 0)::int8 as calls from pg_stat_xact_user_functions`))
    ?.calls ?? 0

test("a claim calls no function for each run that waits for the other revision (SV2)", async () => {
  await using db = await serverDatabase()
  await db.run(sql`insert into serving_revisions (revision_id, weight) values ('base', null), ('canary', 10)`)
  await db.run(sql`
    with added as (
      insert into threads (thread_id) select gen_random_uuid() from generate_series(1, ${waiting}::int) returning thread_id)
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy)
    select gen_random_uuid(), thread_id, gen_random_uuid(), 'agent', 'pending', '{}', '{}', 'enqueue' from added`)
  const ofBase = sql`select count(*)::int8 as n from runs where revision_of_thread(thread_id) = 'base'`
  const others = await db.row<{ n: number }>(ofBase)

  const { calls, claimed } = await db.transaction(async (tx) => {
    await tx.run(sql`set local track_functions = 'all'`)
    const claimer = { serverId: randomUUID(), revisionId: "canary", leaseMs: 60_000 }
    const before = await callsIn(tx)
    const claims = await claimRuns(tx, claimer, { limit: waiting, runsAlone: false })
    return { calls: (await callsIn(tx)) - before, claimed: claims.length }
  })

  assert.equal(claimed, waiting - (others?.n ?? 0))
  assert.ok(claimed > 0 && claimed < waiting / 2, `${claimed} claimed at 10 %`)
  // A few for each claimed run, and none for the others.
  assert.ok(calls < (others?.n ?? 0), `${calls} calls`)
})
