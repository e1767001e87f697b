import assert from "node:assert/strict"
import { test } from "node:test"
import { sinceText } from "./secret-versions.js"

const of = (secrets_version: number, ...secret_names: string[]) => ({ secrets_version, secret_names })

test("a secret is there since the oldest revision in a row that has it, or before, if older ones were not read", () => {
  const resources = [of(4, "A", "B"), of(3, "A", "B"), of(2, "A")]

  assert.equal(sinceText("B", { resources, mayHaveOlder: true }), "version 3")
  assert.equal(sinceText("A", { resources, mayHaveOlder: false }), "version 2")
  assert.equal(sinceText("A", { resources, mayHaveOlder: true }), "version 2 or before")
  assert.equal(sinceText("C", { resources, mayHaveOlder: true }), "the next revision")
})
