import assert from "node:assert/strict"
import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { test } from "node:test"
import { Unavailable } from "../errors/errors.js"
import { onBrokenRule } from "../errors/must.js"
import { lateOnBusyMachineMs } from "../testing/busy-machine.js"
import { freshDatabase } from "../testing/fresh-database.js"
import { postgresProxy } from "../testing/postgres-proxy.js"
import { silent } from "../testing/test-cluster.js"
import { until } from "../testing/until.js"
import { type Db, isSqlState, openDatabase, sqlState } from "./database.js"
import { sql } from "./sql.js"
import { DatabaseUnavailable } from "./unavailable.js"
import { within } from "./within.js"

test("users' json keeps its bytes, our jsonb is parsed and counts are numbers", async () => {
  await using db = await freshDatabase()
  const text = '{"b" : 1.0, "a":"\\u0000"}'

  const row = await db.row(sql`select ${text}::json as theirs, '{"b": 1}'::jsonb as ours, count(*) as n`)

  assert.deepEqual(row, { theirs: text, ours: { b: 1 }, n: 1 })
})

test("a conflict is recognized by its SQLSTATE and its constraint", async () => {
  await using db = await freshDatabase()
  await db.run(sql`create table notes (id int constraint notes_one_each primary key)`)
  await db.run(sql`insert into notes values (1)`)

  const clash = await db.run(sql`insert into notes values (1)`).catch((error: unknown) => error)

  assert.equal(isSqlState(clash, sqlState.uniqueViolation), true)
  assert.equal(isSqlState(clash, sqlState.uniqueViolation, "notes_one_each"), true)
  assert.equal(isSqlState(clash, sqlState.uniqueViolation, "another"), false)
  assert.equal(isSqlState(new Error("no"), sqlState.uniqueViolation), false)
})

test("a statement that takes longer than its limit is stopped", async () => {
  await using db = await freshDatabase()
  await using limited = openDatabase({ uri: db.uri, cancelAfterMs: lateOnBusyMachineMs, log: silent })

  const slow = limited.row(sql`select pg_sleep(60)`)

  await assert.rejects(slow, Unavailable)
  assert.deepEqual(await limited.row(sql`select 1 as one`), { one: 1 })
})

test("the statement limit is not a startup parameter, since PgBouncer refuses unknown ones", async () => {
  const packets: string[] = []
  await using pooler = createServer((socket) =>
    socket.once("data", (packet) => {
      packets.push(packet.toString("latin1"))
      socket.destroy()
    }),
  )
  pooler.listen(0, "127.0.0.1")
  await once(pooler, "listening")
  const { port } = pooler.address() as AddressInfo
  await using limited = openDatabase({ uri: `postgres://me@127.0.0.1:${port}/mine`, cancelAfterMs: 50, log: silent })

  await assert.rejects(limited.row(sql`select 1`), Unavailable)

  assert.match(packets.join(), /database\0mine\0/)
  assert.doesNotMatch(packets.join(), /statement_timeout/)
})

test("a statement to a host that has vanished fails at its limit, and the next one gets a new connection", {
  timeout: 60_000,
}, async () => {
  await using db = await freshDatabase()
  await using proxy = await postgresProxy(db.uri)
  await using behind = openDatabase({ uri: proxy.uri, poolSize: 1, statementMs: lateOnBusyMachineMs, log: silent })
  await behind.run(sql`select 1`)

  proxy.cut("vanish")
  const lost = behind.transaction((tx) => tx.run(sql`select 1`))

  await assert.rejects(lost, DatabaseUnavailable)
  assert.deepEqual(await behind.row(sql`select 1 as one`), { one: 1 })
})

test("a transaction on a connection that went silent fails together with its statement, and waits for no rollback", {
  timeout: 60_000,
}, async () => {
  await using db = await freshDatabase()
  await using proxy = await postgresProxy(db.uri)
  await using behind = openDatabase({ uri: proxy.uri, poolSize: 1, statementMs: lateOnBusyMachineMs, log: silent })
  const order: string[] = []

  const fail = async (part: Db) => {
    proxy.cut("vanish")
    await part.run(sql`select 1`).finally(() => setImmediate(() => order.push("a turn after the statement")))
  }
  const lost = behind.transaction((tx) => within(behind, tx).transaction(fail))
  await assert.rejects(lost, DatabaseUnavailable)
  order.push("the transaction")

  await until(() => order.length === 2, { what: "both have failed" })
  assert.deepEqual(order, ["the transaction", "a turn after the statement"])
})

test("DB1: a transaction that a statement left open does not reach the next statement", async (t) => {
  await using db = await freshDatabase()
  await using leaky = openDatabase({ uri: db.uri, poolSize: 1, log: silent })
  await db.run(sql`create table notes (id int)`)
  const broken: string[] = []
  t.after(onBrokenRule(({ rule }) => broken.push(rule)))

  await leaky.run(sql`begin`)
  await leaky.run(sql`insert into notes values (1)`)

  assert.deepEqual(await db.rows(sql`select id from notes`), [{ id: 1 }])
  assert.deepEqual(broken, ["DB1"])
})
