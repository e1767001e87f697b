import assert from "node:assert/strict"
import { test } from "node:test"
import { renderReport } from "./report.js"

test("the table has kills by target, and beside them strikes and how many hit their point", () => {
  const facts = {
    seed: 7,
    conversations: 4,
    runs: 6,
    streams: 3,
    connections: 5,
    attempts: new Map([[1, 6]]),
    broken: [],
    promises: new Map([["D4", 12]]),
    judged: { threads: 0, calls: 0, unknown: 0, undecided: [] },
    aims: new Map([["lose the reply of a claim", { attempts: 5, hits: 3 }]]),
  }

  const table = renderReport({
    ...facts,
    kills: [
      { point: "while streaming", target: "worker", count: 3, isHit: true },
      { point: "while streaming", target: "server", count: 1, isHit: false },
      { point: "random", target: "postgres", count: 1, isHit: true },
    ],
  })

  assert.match(table, /^kills +worker +server +postgres +all +strikes +hit$/m)
  assert.match(table, /^while streaming +3 +1 +0 +4 +2 +1$/m)
  assert.match(table, /^D4 +12$/m)
  assert.match(table, /^lose the reply of a claim +5 +3$/m)
  assert.match(table, /^all +3 +1 +1 +5 +3 +2$/m)
})
