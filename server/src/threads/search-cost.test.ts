/** A page of a search reads about as many rows as it shows, in each sort order. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { rowsRead } from "../testing/rows-read.js"
import { serverDatabase } from "../testing/test-server.js"
import { countThreads, searchThreads, type ThreadFilter, type ThreadOrder } from "./search-queries.js"

const threads = 20_000
const maxRowsRead = 100
// Postgres makes a generic plan for a prepared statement after five executions: that plan must be good, too.
const rounds = 7
const orders: readonly ThreadOrder["sortBy"][] = ["thread_id", "status", "created_at", "updated_at", "state_updated_at"]
const everything: ThreadFilter = { ids: undefined, metadata: undefined, values: undefined, status: undefined }
// A chat client's search: threads of its only graph, which matches every thread.
const ofGraph: ThreadFilter = { ...everything, metadata: { graph_id: "agent" } }

async function fillThreads(db: Db): Promise<void> {
  await db.run(sql`
    insert into threads (thread_id, graph_id, metadata, created_at, updated_at, state_updated_at)
    select gen_random_uuid(), 'agent', json_build_object('owner', 'user ' || n % 1000), at, at, at
    from (select n, now() - make_interval(secs => n) as at from generate_series(1, ${threads}::int) as n) numbered`)
  await db.run(sql`analyze threads`)
}

test("reading a page of threads reads about a page of rows, in every order and for any number of threads", async () => {
  await using db = await serverDatabase()
  await fillThreads(db)
  const read: Record<string, number> = {}

  for (const [name, filter] of Object.entries({ all: everything, "of a graph": ofGraph })) {
    for (const sortBy of orders) {
      for (let round = 0; round < rounds; round++) {
        const search = { filter, access: undefined, page: { limit: 10, offset: 0 }, withValues: true }
        const rows = await db.transaction((tx) =>
          rowsRead(tx, "threads", () => searchThreads(tx, { ...search, order: { sortBy, sortOrder: "desc" } })),
        )
        read[`${name} by ${sortBy}`] = Math.max(read[`${name} by ${sortBy}`] ?? 0, rows)
      }
    }
  }

  const tooMany = Object.entries(read).filter(([, rows]) => rows > maxRowsRead)
  assert.deepEqual(tooMany, [], `rows read: ${JSON.stringify(read)}`)
})

test("counting stops at its limit, and an owner's few threads are found by an index", async () => {
  await using db = await serverDatabase()
  await fillThreads(db)
  const counted = async (filter: ThreadFilter, limit?: number) => {
    let count = 0
    const rows = await db.transaction((tx) =>
      rowsRead(tx, "threads", async () => {
        count = await countThreads(tx, filter, undefined, limit)
      }),
    )
    return { count, rows }
  }

  const bounded = await counted(ofGraph, 500)
  const owned = await counted({ ...everything, metadata: { owner: "user 7" } })
  const nobody = await counted({ ...everything, ids: [randomUUID()] })

  assert.equal(bounded.count, 500)
  assert.ok(bounded.rows <= 1000, `${bounded.rows} rows read`)
  assert.equal(owned.count, threads / 1000)
  assert.ok(owned.rows <= maxRowsRead, `${owned.rows} rows read`)
  assert.equal(nobody.count, 0)
})
