import assert from "node:assert/strict"
import { test } from "node:test"
import { checkPlanted, findingOf, planted } from "./plant.mjs"

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

test("the first broken promise that a campaign prints is its finding", () => {
  const round = "3 kills, 7 runs, 0 promises broken"

  assert.equal(findingOf(["seed 1", round]), undefined)
  assert.deepEqual(findingOf([round, "5 kills, 9 runs, 2 promises broken", "  hole: a gap", "  lost: a run"]), {
    judge: "hole",
    finding: "a gap",
  })
  assert.deepEqual(findingOf(["histories that no order explains: 1", "r0d1: the shortest prefix"]), {
    judge: "history",
    finding: "r0d1: the shortest prefix",
  })
  assert.equal(findingOf(["holes: 0", ""]), undefined)
  assert.deepEqual(findingOf(["holes: 2", "r0t1: the state has no log"]), {
    judge: "hole",
    finding: "r0t1: the state has no log",
  })
  assert.deepEqual(findingOf(["seed 17:", "  a unit was stopped while it was busy"]), {
    judge: "simulation",
    finding: "a unit was stopped while it was busy",
  })
})
