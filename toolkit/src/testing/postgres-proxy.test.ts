import assert from "node:assert/strict"
import { test } from "node:test"
import { type Database, type Db, openDatabase } from "../db/database.js"
import { sql } from "../db/sql.js"
import { DatabaseUnavailable } from "../db/unavailable.js"
import { lateOnBusyMachineMs } from "./busy-machine.js"
import { freshDatabase } from "./fresh-database.js"
import { type PostgresProxy, postgresProxy } from "./postgres-proxy.js"
import { silent } from "./test-cluster.js"
import { until } from "./until.js"

interface Behind extends AsyncDisposable {
  /** Through the proxy. */
  readonly db: Database
  /** Past it. */
  readonly direct: Database
  readonly proxy: PostgresProxy
}

async function behindProxy(statementMs = 20_000): Promise<Behind> {
  const direct = await freshDatabase()
  await direct.run(sql`create table entries (entry text primary key)`)
  const proxy = await postgresProxy(direct.uri)
  const db = openDatabase({ uri: proxy.uri, log: silent, poolSize: 2, statementMs })
  const dispose = async () => {
    proxy.heal()
    await db.close()
    await proxy[Symbol.asyncDispose]()
    await direct.close()
  }
  return { db, direct, proxy, [Symbol.asyncDispose]: dispose }
}

const insert = (entry: string) => sql`insert into entries (entry) values (${entry})`
const entries = async (db: Database) =>
  (await db.rows<{ entry: string }>(sql`select entry from entries`)).map((row) => row.entry)

const into = /insert into entries/
const run = (db: Db) => db.run(insert("aimed"))
/** Is committed before. */
const kept = "kept"

const aims: readonly (readonly [
  what: string,
  aim: Parameters<PostgresProxy["aim"]>[0],
  work: (db: Database) => Promise<unknown>,
  left: string[],
])[] = [
  ["a lost reply belongs to a statement that is committed", { kind: "lose reply", at: into }, run, ["aimed", kept]],
  [
    "the reply of a COMMIT is lost after the transaction is committed",
    { kind: "lose reply", at: /^commit$/ },
    (db) => db.transaction(run),
    ["aimed", kept],
  ],
  ["a request that breaks in the middle is not executed", { kind: "break request", at: into }, run, [kept]],
  [
    "what is swallowed on the way to Postgres never arrives",
    { kind: "swallow", direction: "to server", at: into },
    run,
    [kept],
  ],
  [
    "what is swallowed on the way back was executed, and Postgres hears that the client gave up",
    { kind: "swallow", direction: "to client", at: into },
    run,
    ["aimed", kept],
  ],
]
for (const [what, aim, work, left] of aims)
  test(`${what}, also of a statement that was prepared before`, async () => {
    await using behind = await behindProxy(lateOnBusyMachineMs)
    const { db, direct, proxy } = behind
    await db.run(insert(kept))

    const aimed = proxy.aim(aim)
    await assert.rejects(work(db), DatabaseUnavailable)

    assert.ok(aimed.isHit)
    assert.deepEqual((await entries(direct)).sort(), left)
    proxy.heal()
    assert.deepEqual((await entries(db)).sort(), left, "the next statement has a connection")
  })

test("the reply of a statement that fails is not lost, and the aim stays", async () => {
  await using behind = await behindProxy()
  const { db, proxy } = behind
  await db.run(insert("same"))

  const aim = proxy.aim({ kind: "lose reply", at: into })
  await assert.rejects(db.run(insert("same")), { code: "23505" })

  assert.equal(aim.isHit, false)
})

test("one notification is held while the next ones arrive, and sessions that listen are cut alone", async () => {
  await using behind = await behindProxy()
  const { db, direct, proxy } = behind
  const heard: string[] = []
  let reconnects = 0
  await db.listen(
    "news",
    (payload) => heard.push(payload),
    () => reconnects++,
  )
  const notify = (payload: string) => direct.run(sql`select pg_notify('news', ${payload})`)

  const held = proxy.aim({ kind: "hold notification", at: /^news$/, forMs: Number.POSITIVE_INFINITY })
  await notify("held")
  await notify("next")
  await until(() => heard.length > 0, { what: "a notification arrives" })
  const cut = proxy.aim({ kind: "cut listeners" })
  await until(() => reconnects > 0, { what: "it listens again" })

  assert.deepEqual(heard, ["next"])
  assert.ok(held.isHit && cut.isHit)
  assert.deepEqual(db.pool().open, 0, "no other connection was opened or cut")
})

test("statements whose bytes arrive one by one are executed", async () => {
  await using behind = await behindProxy()
  const { db, proxy } = behind

  const aim = proxy.aim({ kind: "slice", at: /insert into entries/, bytes: 300 })
  await Promise.all([db.run(insert("one")), db.run(insert("two"))])

  assert.ok(aim.isHit)
  assert.deepEqual((await entries(db)).sort(), ["one", "two"])
})
