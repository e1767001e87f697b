import assert from "node:assert/strict"
import { test } from "node:test"
import { databaseAddress } from "./database-address.js"

test("text that is not a Postgres address is refused, and the error does not repeat it", () => {
  const texts = [
    "nonsense",
    "mysql://user:secret@host/name",
    "postgres://user:secret@host:99999/name",
    "postgres:secret",
  ]

  for (const text of texts) {
    const { error } = databaseAddress.safeParse(text)
    assert.match(error?.message ?? "", /expected an address such as postgres:\/\/user:password@host:5432\/name/)
    assert.doesNotMatch(error?.message ?? "", /secret|nonsense/)
  }
})

test("an address that may be used with or without TLS is refused with the two choices", () => {
  for (const mode of ["prefer", "allow"]) {
    const { error } = databaseAddress.safeParse(`postgres://user:secret@/name?host=/run&sslmode=${mode}`)
    assert.match(error?.message ?? "", /use sslmode=disable, or sslmode=require/)
    assert.doesNotMatch(error?.message ?? "", /secret|expected an address/)
  }
})
