import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { startPostgres } from "../postgres/start-postgres.js"
import { preparedCluster } from "../testing/prepared-cluster.js"
import { silent, testCluster } from "../testing/test-cluster.js"
import { openDatabase } from "./database.js"
import { changeUri } from "./database-uri.js"
import { createDatabase, dropDatabase, keepOthersOut, MissingPrivilege } from "./provision.js"
import { type Sql, sql } from "./sql.js"

/** A name that would break a statement in which it were not quoted. */
const oddName = () => `test "${randomBytes(6).toString("hex")}" --`

async function ask(uri: string, statement: Sql): Promise<unknown> {
  await using db = openDatabase({ uri, log: silent })
  return db.row(statement)
}

test("an owner works in its database, and its limit and password can be changed", async () => {
  const adminUri = await testCluster()
  const name = oddName()
  await createDatabase({ adminUri, name, owner: { password: "old", connectionLimit: 1 } })

  const uri = await createDatabase({ adminUri, name, owner: { password: "n#w/?", connectionLimit: 2 } })

  assert.deepEqual(await ask(uri, sql`select current_user::text as role, current_database()::text as database`), {
    role: name,
    database: name,
  })
  await ask(uri, sql`create table notes (id int)`)
  await assert.rejects(ask(changeUri(uri, { password: "old" }), sql`select 1`), { code: "28P01" })
  await using db = openDatabase({ uri, log: silent })
  const three = [1, 2, 3].map(() => db.rows(sql`select pg_sleep(0.2)`))
  assert.equal((await Promise.allSettled(three)).filter(({ status }) => status === "rejected").length, 1)
  await db.close()
  await dropDatabase({ adminUri, name })
})

test("a database that was made by hand can be closed to the roles of others", async () => {
  const adminUri = await testCluster()
  const [byHand, name] = [oddName(), oddName()]
  const uri = await createDatabase({ adminUri, name: byHand })
  await createDatabase({ adminUri, name, owner: { password: "p" } })
  // The server of tests lets no role into a database of another name; others do.
  const mayConnect = sql`select has_database_privilege(${name}, ${byHand}, 'connect') as it`
  assert.deepEqual(await ask(adminUri, mayConnect), { it: true })

  await keepOthersOut(uri)

  assert.deepEqual(await ask(adminUri, mayConnect), { it: false })
  assert.deepEqual(await ask(uri, sql`select 1 as one`), { one: 1 })
  for (const it of [byHand, name]) await dropDatabase({ adminUri, name: it })
})

test("callers that make the same database at once all succeed", async () => {
  const adminUri = await testCluster()
  const name = oddName()

  const made = [1, 2, 3].map(() => createDatabase({ adminUri, name, owner: { password: "p" } }))

  const [uri = ""] = await Promise.all(made)
  assert.deepEqual(await ask(uri, sql`select 1 as one`), { one: 1 })
  await dropDatabase({ adminUri, name })
})

test("dropping ends the sessions, removes the role and may be done again", async () => {
  const adminUri = await testCluster()
  const name = oddName()
  await using db = openDatabase({
    uri: await createDatabase({ adminUri, name, owner: { password: "p" } }),
    log: silent,
  })
  await db.rows(sql`select 1`)

  await dropDatabase({ adminUri, name })
  await dropDatabase({ adminUri, name })

  const left = sql`select (select count(*) from pg_database where datname = ${name}) as databases,
                          (select count(*) from pg_roles where rolname = ${name}) as roles`
  assert.deepEqual(await ask(adminUri, left), { databases: 0, roles: 0 })
})

test("an admin who is no superuser can make and drop databases with owners", async () => {
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

test("an admin without the privilege is told what is missing", async () => {
  const adminUri = await testCluster()
  const name = oddName()
  const plain = await createDatabase({ adminUri, name, owner: { password: "p" } })

  const refused = createDatabase({ adminUri: plain, name: `${name} 2`, owner: { password: "p" } })

  await assert.rejects(refused, MissingPrivilege)
  await dropDatabase({ adminUri, name })
})
