import assert from "node:assert/strict"
import { test } from "node:test"
import pg from "pg"
import { changeUri, databaseUri } from "./database-uri.js"

const read = (uri: string) => {
  const { host, port, user, password, database } = new pg.Client({ connectionString: uri })
  return { host, port, user, password, database }
}

test("a driver parses a connection string into the parts that it was built from", () => {
  const socket = { host: "/run/a b/é", port: 5432, user: "me@home", password: "p:/?#%", database: 'my "db" é%' }
  const network = { host: "db.example", port: 6000, user: "u", password: "p", database: "d" }

  assert.deepEqual(read(databaseUri(socket)), socket)
  assert.deepEqual(read(databaseUri(network)), network)
})

test("a changed connection string keeps its server and its options", () => {
  const uri = "postgres://admin:one@db.example:6000/postgres?application_name=x&host=%2Frun"

  const changed = changeUri(uri, { database: "agent", user: "agent", password: "two#" })

  assert.equal(changed, "postgres://agent:two%23@db.example:6000/agent?application_name=x&host=%2Frun")
})

test("a database's name that drivers read differently is refused", () => {
  const address = { host: "h", user: "u", password: "p" }

  assert.throws(() => databaseUri({ ...address, database: "my/db" }), /my\/db/)
  assert.throws(() => changeUri(databaseUri({ ...address, database: "d" }), { database: "a?b" }), /a\?b/)
})
