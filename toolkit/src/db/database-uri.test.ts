import assert from "node:assert/strict"
import { test } from "node:test"
import { changeUri, databaseUri } from "./database-uri.js"

test("a database's name that drivers read differently is refused", () => {
  const address = { host: "h", user: "u", password: "p" }

  assert.throws(() => databaseUri({ ...address, database: "my/db" }), /my\/db/)
  assert.throws(() => changeUri(databaseUri({ ...address, database: "d" }), { database: "a?b" }), /a\?b/)
})
