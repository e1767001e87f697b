import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { durabilityPage, promisesOf, readMarks, unreached } from "./marks.js"

const sources = fileURLToPath(new URL("../../../server/src", import.meta.url))

test("the promises of docs/durability.md are those that the server's log names", () => {
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"))
  const code = files.map((name) => readFileSync(join(sources, name), "utf8")).join("\n")
  const named = new Set([...code.matchAll(/\bpromise\b.*?"(D\d+)"(?: : "(D\d+)")?/g)].flatMap(([, ...ids]) => ids))
  named.delete(undefined as never)

  const promised = promisesOf(readFileSync(durabilityPage, "utf8")).map(({ id }) => id)

  assert.deepEqual([...named].sort(), [...promised].sort())
})

test("marks are counted, broken rules are found, and what was not reached is named", () => {
  const lines = [
    '{"promise":"D1","msg":"a"}\n{"promise":"D1","msg":"b"}\n{"msg":"c"}',
    '{"promise":"D2","msg":"a rule is fine"}\n{"rule":"K1","msg":"a rule is broken: this is"}',
  ]
  const page = "| D1 | one | kills |\n| D2 | two | a test |\n| D3 | three | kills, cuts |\n"

  const logged = readMarks(lines)

  assert.deepEqual(Object.fromEntries(logged.promises), { D1: 2, D2: 1 })
  assert.equal(logged.brokenRules.length, 1)
  assert.deepEqual(fieldsOf(unreached(promisesOf(page), logged), "id"), ["D3"])
})
