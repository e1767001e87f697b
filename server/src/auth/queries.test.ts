import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { v7 as uuidv7 } from "uuid"
import { serverDatabase } from "../testing/test-server.js"
import type { MetadataFilter } from "./metadata-filter.js"
import { matchesFilter } from "./queries.js"

const addThread = (db: Database, metadata: unknown) =>
  db.run(sql`insert into threads (thread_id, metadata) values (${uuidv7()}, ${JSON.stringify(metadata)})`)

/** The names of the threads that match a filter. */
async function namesOf(db: Database, filter: MetadataFilter | undefined) {
  const rows = await db.rows<{ name: string }>(sql`
    select searchable_metadata ->> 'name' as name from threads where ${matchesFilter(sql`searchable_metadata`, filter)} order by 1`)
  return rows.map(({ name }) => name).join("")
}

test("an access filter matches equal or contained values, and never a missing field", async () => {
  await using db = await serverDatabase()
  await addThread(db, { name: "a", owner: "ann", groups: ["x", "y"] })
  await addThread(db, { name: "b", owner: "bob", groups: ["x"], level: { deep: 1, more: 2 } })
  await addThread(db, { name: "c", groups: "x" })
  await addThread(db, { name: "d", owner: ["ann"], level: { deep: 1 } })

  assert.equal(await namesOf(db, undefined), "abcd")
  assert.equal(await namesOf(db, {}), "abcd")
  assert.equal(await namesOf(db, { owner: "ann" }), "a")
  assert.equal(await namesOf(db, { owner: { $eq: "bob" } }), "b")
  assert.equal(await namesOf(db, { groups: { $contains: "x" } }), "ab")
  assert.equal(await namesOf(db, { groups: { $contains: ["x", "y"] } }), "a")
  assert.equal(await namesOf(db, { level: { $eq: { deep: 1 } } }), "d")
  assert.equal(await namesOf(db, { owner: "ann", groups: { $contains: "y" } }), "a")
  assert.equal(await namesOf(db, { $or: [{ owner: "bob" }, { name: "c" }] }), "bc")
  assert.equal(await namesOf(db, { $or: [] }), "")
  assert.equal(await namesOf(db, { $and: [{ groups: { $contains: "x" } }, { owner: "ann" }] }), "a")
  assert.equal(await namesOf(db, { $and: [] }), "abcd")
})

test("metadata that jsonb cannot represent is stored unchanged and searched by its nearest representation, also by an access filter", async () => {
  await using db = await serverDatabase()
  const metadata = { name: "odd", nul: "a\u0000b", half: "\ud800", escaped: "\\u0000", pair: "😀" }
  await addThread(db, metadata)

  const row = await db.row<{ metadata: string; copy: Record<string, string> }>(
    sql`select metadata, searchable_metadata as copy from threads`,
  )

  assert.deepEqual(JSON.parse(row?.metadata ?? ""), metadata)
  assert.deepEqual(row?.copy, { ...metadata, nul: "a\ufffdb", half: "\ufffd" })
  assert.equal(await namesOf(db, { pair: "😀" }), "odd")

  await addThread(db, { name: "a", owner: "half \ud800", groups: ["\udfff"] })
  await addThread(db, { name: "b", owner: "half", groups: [] })

  assert.equal(await namesOf(db, { owner: "half \ud800" }), "a")
  assert.equal(await namesOf(db, { groups: { $contains: "\udfff" } }), "a")
  assert.equal(await namesOf(db, { owner: { $eq: "half \ud800" } }), "a")
})
