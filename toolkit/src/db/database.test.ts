import assert from "node:assert/strict"
import { test } from "node:test"
import { freshDatabase } from "../testing/fresh-database.js"
import { until } from "../testing/until.js"
import { isSqlState, sqlState } from "./database.js"
import { joinSql, sql } from "./sql.js"

test("rows, a row, none and the number of touched ones", async () => {
  await using db = await freshDatabase()
  await db.run(sql`create table notes (id int primary key, body text)`)

  const touched = await db.run(sql`insert into notes values (1, 'a'), (2, 'b')`)
  const conditions = joinSql([sql`id > ${0}`, sql`body <> ${"a"}`], " and ")

  assert.equal(touched, 2)
  assert.deepEqual(await db.rows(sql`select id from notes order by id`), [{ id: 1 }, { id: 2 }])
  assert.deepEqual(await db.row(sql`select id from notes where ${conditions}`), { id: 2 })
  assert.equal(await db.row(sql`select id from notes where id = ${9}`), undefined)
})

test("users' json keeps its bytes, our jsonb is parsed and counts are numbers", async () => {
  await using db = await freshDatabase()
  const text = '{"b" : 1.0, "a":"\\u0000"}'

  const row = await db.row(sql`select ${text}::json as theirs, '{"b": 1}'::jsonb as ours, count(*) as n`)

  assert.deepEqual(row, { theirs: text, ours: { b: 1 }, n: 1 })
})

test("a transaction happens whole or not at all", async () => {
  await using db = await freshDatabase()
  await db.run(sql`create table notes (id int primary key)`)

  const failed = db.transaction(async (tx) => {
    await tx.run(sql`insert into notes values (1)`)
    throw new Error("changed my mind")
  })
  await assert.rejects(failed, /changed my mind/)
  const returned = await db.transaction(async (tx) => tx.run(sql`insert into notes values (2)`))

  assert.equal(returned, 1)
  assert.deepEqual(await db.rows(sql`select id from notes`), [{ id: 2 }])
})

test("a clash is known by its state and its constraint", async () => {
  await using db = await freshDatabase()
  await db.run(sql`create table notes (id int constraint notes_one_each primary key)`)
  await db.run(sql`insert into notes values (1)`)

  const clash = await db.run(sql`insert into notes values (1)`).catch((error: unknown) => error)

  assert.equal(isSqlState(clash, sqlState.uniqueViolation), true)
  assert.equal(isSqlState(clash, sqlState.uniqueViolation, "notes_one_each"), true)
  assert.equal(isSqlState(clash, sqlState.uniqueViolation, "another"), false)
  assert.equal(isSqlState(new Error("no"), sqlState.uniqueViolation), false)
})

test("a connection lost in a transaction fails that transaction only", async () => {
  await using db = await freshDatabase()
  const pidOf = (row: { pid: number } | undefined) => row?.pid ?? assert.fail("no session")

  const lost = db.transaction(async (tx) => {
    const pid = pidOf(await tx.row<{ pid: number }>(sql`select pg_backend_pid() as pid`))
    await db.run(sql`select pg_terminate_backend(${pid})`)
    const isGone = () => db.row(sql`select 1 where not exists (select from pg_stat_activity where pid = ${pid})`)
    await until(isGone, { what: "the transaction's session is gone" })
    await tx.run(sql`select 1`)
  })

  await assert.rejects(lost)
  assert.deepEqual(await db.row(sql`select 1 as one`), { one: 1 })
})
