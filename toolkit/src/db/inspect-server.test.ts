import assert from "node:assert/strict"
import test from "node:test"
import { fakePooler } from "../testing/fake-pooler.js"
import { freshDatabase } from "../testing/fresh-database.js"
import { testCluster } from "../testing/test-cluster.js"
import { inspectServer, UnsupportedServer } from "./inspect-server.js"
import { createDatabase, dropDatabase, MissingPrivilege } from "./provision.js"

test("a server's version and its available connections are read", async () => {
  await using db = await freshDatabase()

  const facts = await inspectServer(db.uri)

  assert.ok(facts.majorVersion >= 15)
  assert.ok(facts.mostConnections > 50 && facts.mostConnections < 1000)
})

test("a role that may not create databases causes an error with the statement that grants it", async () => {
  const adminUri = await testCluster()
  const name = `test_plain_${process.pid}`
  const uri = await createDatabase({ adminUri, name, owner: { password: "secret" } })

  const refused = inspectServer(uri)

  await assert.rejects(refused, (error) => {
    assert.ok(error instanceof MissingPrivilege)
    assert.match(error.message, new RegExp(`alter role "${name}" createdb createrole;`))
    assert.doesNotMatch(error.message, /secret/)
    return true
  })
  await dropDatabase({ adminUri, name })
})

test("a pooler that shares sessions among transactions is refused with its reason", async () => {
  const adminUri = await testCluster()
  const folder = new URL(adminUri.replace(/^postgres(ql)?:/, "http:")).searchParams.get("host")
  assert.ok(folder, adminUri)
  await using pooler = await fakePooler(`${folder}/.s.PGSQL.5432`)
  const address = new URL(adminUri.replace(/^postgres(ql)?:/, "http:"))
  const user = `${address.username}:${address.password}`
  const uri = `postgres://${user}@127.0.0.1:${pooler.port}${address.pathname}`

  await assert.rejects(inspectServer(uri), (error) => {
    assert.ok(error instanceof UnsupportedServer)
    assert.match(error.message, /pool_mode = transaction/)
    return true
  })
})
