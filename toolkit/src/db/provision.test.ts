import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import pg from "pg"
import { startPostgres } from "../postgres/start-postgres.js"
import { preparedCluster } from "../testing/prepared-cluster.js"
import { silent, testCluster } from "../testing/test-cluster.js"
import { openDatabase } from "./database.js"
import { changeUri } from "./database-uri.js"
import { createDatabase, dropDatabase, limitConnections, MissingPrivilege, restrictToOwner } from "./provision.js"
import { type Sql, sql } from "./sql.js"
import { withClient } from "./with-client.js"

/** A name that would break a statement in which it were not quoted. */
const oddName = () => `test "${randomBytes(6).toString("hex")}" --`

async function ask(uri: string, statement: Sql): Promise<unknown> {
  await using db = openDatabase({ uri, log: silent })
  return await db.row(statement)
}

test("an owner works in its database, and its limit and password can be changed", async () => {
  const adminUri = await testCluster()
  const name = oddName()
  await createDatabase({ adminUri, name, owner: { password: "old", connectionLimit: 1 } })

  const uri = await createDatabase({ adminUri, name, owner: { password: "n#w/?", connectionLimit: 2 } })

  // Sessions begin one after the other: two that begin at once may both be refused. None is closed before the last one
  // begins: a closed session counts until its backend has exited.
  const begin = (work: (client: pg.Client) => Promise<void>) => withClient(uri, work)
  await begin(async (client) => {
    const { rows } = await client.query("select current_user::text as role, current_database()::text as database")
    assert.deepEqual(rows, [{ role: name, database: name }])
    await client.query("create table notes (id int)")
    await assert.rejects(ask(changeUri(uri, { password: "old" }), sql`select 1`), { code: "28P01" })
    await begin(async () => {
      await assert.rejects(
        begin(async () => {}),
        { code: "53300" },
      )
    })
  })
  await dropDatabase({ adminUri, name })
})

test("a database that was created by hand can be closed to other roles", async () => {
  const adminUri = await testCluster()
  const [byHand, name] = [oddName(), oddName()]
  const uri = await createDatabase({ adminUri, name: byHand })
  await createDatabase({ adminUri, name, owner: { password: "p" } })
  // The server of tests lets no role into a database of another name; others do.
  const mayConnect = sql`select has_database_privilege(${name}, ${byHand}, 'connect') as it`
  assert.deepEqual(await ask(adminUri, mayConnect), { it: true })

  await restrictToOwner(uri)

  assert.deepEqual(await ask(adminUri, mayConnect), { it: false })
  assert.deepEqual(await ask(uri, sql`select 1 as one`), { one: 1 })
  for (const it of [byHand, name]) await dropDatabase({ adminUri, name: it })
})

test("concurrent calls create one database; dropping it closes its sessions, drops the role and may be repeated", async () => {
  const adminUri = await testCluster()
  const name = oddName()
  const made = [1, 2, 3].map(() => createDatabase({ adminUri, name, owner: { password: "p" } }))
  const [uri = ""] = await Promise.all(made)
  await using db = openDatabase({ uri, log: silent })
  await db.rows(sql`select 1`)

  await dropDatabase({ adminUri, name })
  await dropDatabase({ adminUri, name })

  const left = sql`select (select count(*) from pg_database where datname = ${name}) as databases,
                          (select count(*) from pg_roles where rolname = ${name}) as roles`
  assert.deepEqual(await ask(adminUri, left), { databases: 0, roles: 0 })
})

test("an admin who is not a superuser can create and drop databases with owners", async () => {
  const postgres = await startPostgres({ folder: await preparedCluster(), log: silent, stopWithParent: true })
  const admin = { name: "postgres_admin", owner: { password: "admin" } }
  const adminUri = await createDatabase({ adminUri: postgres.superuserUri, ...admin })
  await ask(postgres.superuserUri, sql`alter role postgres_admin createdb createrole`)

  await createDatabase({ adminUri, name: "agent", owner: { password: "p" } })
  await createDatabase({ adminUri, name: "agent", owner: { password: "p", connectionLimit: 3 } })
  const limit = await ask(postgres.superuserUri, sql`select rolconnlimit as n from pg_roles where rolname = 'agent'`)
  await dropDatabase({ adminUri, name: "agent" })

  assert.deepEqual(limit, { n: 3 })
  await postgres.stop()
})

test("an admin without a privilege gets an error that names it", async () => {
  const adminUri = await testCluster()
  const name = oddName()
  const plain = await createDatabase({ adminUri, name, owner: { password: "p" } })

  const refused = createDatabase({ adminUri: plain, name: `${name} 2`, owner: { password: "p" } })

  await assert.rejects(refused, MissingPrivilege)
  await dropDatabase({ adminUri, name })
})

test("a role that keeps its own row locked stops neither a change of its limit nor its deletion", async () => {
  const adminUri = await testCluster()
  const name = `locks_${randomBytes(6).toString("hex")}`
  const uri = await createDatabase({ adminUri, name, owner: { password: "p", connectionLimit: 5 } })
  const hostile = new pg.Client({ connectionString: uri })
  const ended = new Promise<void>((resolve) => hostile.once("end", () => resolve()))
  // It is terminated below.
  hostile.on("error", () => undefined)
  await hostile.connect()
  await hostile.query("begin")
  await hostile.query(`alter role ${name} password 'other'`)

  await limitConnections({ adminUri, name, limit: 3 })

  await ended
  await dropDatabase({ adminUri, name })
})
