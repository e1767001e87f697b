/** The reads of an activation that pins paused threads grow linearly with the number of threads. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { within } from "@superstep/toolkit/db/within"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { rowsRead } from "../testing/rows-read.js"
import { migrations } from "../testing/test-server.js"
import { activate } from "./activation.js"

const paused = 5000
// To find, lock and pin it, to find its runs, and to check whether it was paused since.
const maxReadsPerThread = 6

test("an activation reads each of 5,000 paused threads a few times (SV3)", async () => {
  await using db = await freshDatabase({ migrations })
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
