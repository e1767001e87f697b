import assert from "node:assert/strict"
import { test } from "node:test"
import { checkPlanted, planted } from "./plant.mjs"

const change = { file: "a.ts", find: "b > 1", replace: "b > $&" }

test("a fault replaces its place, as it is written", () => {
  assert.equal(planted("if (b > 1) return", change), "if (b > $&) return")
})

test("a fault whose place is gone, or is there twice, is a problem of the list", () => {
  const faults = [{ name: "one", changes: [change] }]
  const problemsOf = (text) => checkPlanted([{ path: "a.ts", text }], faults).map(({ message }) => message)

  assert.deepEqual(problemsOf("b > 1"), [])
  assert.match(problemsOf("b > 2")[0], /^one: a\.ts has 0 places/)
  assert.match(problemsOf("b > 1 || b > 1")[0], /^one: a\.ts has 2 places/)
  assert.match(checkPlanted([], faults)[0].message, /has 0 places/)
})
