import assert from "node:assert/strict"
import { EventEmitter, once } from "node:events"
import { createServer } from "node:net"
import { test } from "node:test"
import { Hono } from "hono"
import pg from "pg"
import { errorHandler } from "../http/errors.js"
import { startPostgres } from "../postgres/start-postgres.js"
import { freshDatabase } from "../testing/fresh-database.js"
import { preparedCluster } from "../testing/prepared-cluster.js"
import { silent as log } from "../testing/test-cluster.js"
import { until } from "../testing/until.js"
import { type Db, isSqlState, openDatabase } from "./database.js"
import { sql } from "./sql.js"
import { asUnavailable, DatabaseUnavailable, isPassing } from "./unavailable.js"

test("while Postgres is down requests get 503, and they succeed when it is back", async () => {
  const folder = await preparedCluster()
  const first = await startPostgres({ folder, log, stopWithParent: true })
  await using db = openDatabase({ uri: first.superuserUri, log })
  const app = new Hono().get("/", async (c) => c.json(await db.rows(sql`select 1 as one`)))
  app.onError(errorHandler({ log, detail: "text" }))
  const underWay = db.run(sql`select pg_sleep(600)`).catch((error: unknown) => error)
  const inTransaction = db
    .transaction(async (tx) => {
      for (;;) await tx.run(sql`select pg_sleep(0.01)`)
    })
    .catch((error: unknown) => error)
  const atWork = sql`select 1 from pg_stat_activity where query like '%sleep(600)%' and pid <> pg_backend_pid()`
  await until(() => db.row(atWork), { what: "a statement is under way" })

  await first.stop()
  const [cut, cutInTransaction, refused] = [await underWay, await inTransaction, await app.request("/")]
  const notBegun = await db.transaction(async () => 1).catch((error: unknown) => error)
  const second = await startPostgres({ folder, log, stopWithParent: true })
  const answered = await app.request("/")
  await db.close()
  // Nobody may wait for it to come back: it is not away.
  const closed = await db.run(sql`select 1`).catch((error: unknown) => error)
  await second.stop()

  for (const error of [cut, cutInTransaction, notBegun]) assert.ok(error instanceof DatabaseUnavailable, String(error))
  assert.equal(isPassing(closed), false, String(closed))
  assert.equal(isSqlState(cut, "57P01"), true)
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "1"])
  assert.equal(answered.status, 200)
})

test("a host that accepts a connection and never answers does not block a request forever", async () => {
  const silent = createServer().listen(0, "127.0.0.1")
  await new Promise((resolve) => silent.once("listening", resolve))
  const { port } = silent.address() as { port: number }
  await using db = openDatabase({ uri: `postgres://u@127.0.0.1:${port}/x`, log, connectMs: 20 })

  await assert.rejects(db.run(sql`select 1`), DatabaseUnavailable)
  await assert.rejects(
    db.transaction(async () => 1),
    DatabaseUnavailable,
  )
  silent.close()
})

test("only connection errors become DatabaseUnavailable; errors of statements are unchanged", () => {
  const ofState = (code: string) => Object.assign(new pg.DatabaseError("no", 2, "error"), { code })
  const ofSystem = (code: string) => Object.assign(new Error("no"), { code })

  for (const error of [ofState("57P03"), ofState("08006"), ofSystem("ENOENT"), new Error("timeout expired")]) {
    assert.ok(asUnavailable(error) instanceof DatabaseUnavailable)
  }
  for (const error of [ofState("23505"), ofState("54001"), ofSystem("EACCES"), new Error("a bug"), "text"]) {
    assert.equal(asUnavailable(error), error)
  }
})

test("of two deadlocked transactions, the one that Postgres aborts may be retried", async () => {
  await using db = await freshDatabase()
  await db.run(sql`create table held (id integer primary key, n integer not null)`)
  await db.run(sql`insert into held values (1, 0), (2, 0)`)
  const add = (tx: Db, id: number) => tx.run(sql`update held set n = n + 1 where id = ${id}`)
  const [first, second] = [new EventEmitter(), new EventEmitter()]
  const [isFirst, isSecond] = [once(first, "done"), once(second, "done")]

  const ended = await Promise.allSettled([
    db.transaction(async (tx) => {
      await add(tx, 1)
      first.emit("done")
      await isSecond
      await add(tx, 2)
    }),
    db.transaction(async (tx) => {
      await add(tx, 2)
      second.emit("done")
      await isFirst
      await add(tx, 1)
    }),
  ])

  const failures = ended.flatMap((one) => (one.status === "rejected" ? [one.reason as Error] : []))
  assert.equal(failures.length, 1)
  assert.ok(failures[0] instanceof DatabaseUnavailable && isPassing(failures[0]))
  assert.match(failures[0].message, /busy with other changes \(40P01\)/)
})

test("a full disk is reported as such, as unavailable until there is space", async () => {
  await using db = await freshDatabase()
  // As Postgres itself says it when a file cannot grow.
  const fill = sql`do $$ begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$`

  await assert.rejects(db.run(fill), (error: Error) => {
    return error instanceof DatabaseUnavailable && /^the database's disk is full \(53100\)/.test(error.message)
  })
})
