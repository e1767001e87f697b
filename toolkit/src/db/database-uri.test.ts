import assert from "node:assert/strict"
import { test } from "node:test"
import { changeUri, databaseUri } from "./database-uri.js"

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
