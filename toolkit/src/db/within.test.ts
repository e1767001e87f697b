import assert from "node:assert/strict"
import { test } from "node:test"
import { freshDatabase } from "../testing/fresh-database.js"
import { sql } from "./sql.js"
import { within } from "./within.js"

test("a nested transaction rolls back alone and commits with the outer one", async () => {
  await using db = await freshDatabase()
  await db.run(sql`create table notes (id int primary key)`)
  const add = (n: number) => sql`insert into notes values (${n})`

  await db.transaction(async (tx) => {
    const inner = within(db, tx)
    await inner.run(add(1))
    await inner.transaction(async (part) => part.run(add(2)))
    // What Postgres refuses must not spoil the rest.
    const refused = inner.transaction(async (part) => {
      await part.run(add(3))
      await part.run(add(1))
    })
    await assert.rejects(refused)
    await inner.run(add(4))
  })
  const whole = db.transaction(async (tx) => {
    await within(db, tx).transaction(async (part) => part.run(add(5)))
    throw new Error("changed my mind")
  })
  await assert.rejects(whole, /changed my mind/)

  assert.deepEqual(await db.rows(sql`select id from notes order by id`), [{ id: 1 }, { id: 2 }, { id: 4 }])
})
