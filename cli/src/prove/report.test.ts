/** The last screen, as users see it. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { type Attack, attacks } from "./attacks.js"
import type { AttackTally, CampaignReport, Found } from "./campaign.js"
import type { ThreadFacts } from "./facts.js"
import { promises } from "./judge.js"
import { screenOf } from "./report.js"

const plain = (_: unknown, text: string): string => text
const screen = {
  release: "0.2.0",
  seed: 7,
  minutes: 3,
  command: "superstep prove --seed 7 --minutes 3",
  serverFaults: [],
  evidence: undefined,
}

const report = (change: Partial<CampaignReport> = {}): CampaignReport => ({
  learned: [
    {
      subject: { graph: "chat", inputs: [] },
      statuses: [],
      values: undefined,
      keepsMessages: true,
      longestMs: 900,
    },
  ],
  attacks: new Map<Attack, AttackTally>(
    attacks.map((attack) => [attack, { times: 2, underWay: 1, continued: 1, broken: 0 }]),
  ),
  runs: 96,
  judged: new Map([["chat", 102]]),
  found: [],
  ...change,
})

test("when everything held, the last line says so, and what was not judged is named", () => {
  const lines = screenOf(report(), screen, plain)

  assert.equal(lines[0], "Superstep 0.2.0, graph chat, 3 minutes, seed 7")
  assert.equal(lines.at(-1), "✔ Held: 16 attacks on 96 runs, 8 while runs executed, and no promise was broken.")
  assert.ok(lines.some((line) => /^ {2}kill workers \(kill -9\) +2 +1 +1 +held$/.test(line)))
  assert.ok(lines.some((line) => /^ {2}each acknowledged run ended.* +held, 102 runs$/.test(line)))
  assert.ok(lines.some((line) => /not judged: the graph answers differently each time/.test(line)))
})

test("an attack that was not reached is named, with what reaches it", () => {
  const [attack] = attacks
  assert.ok(attack)
  const reached = new Map(report().attacks).set(attack, { times: 0, underWay: 0, continued: 0, broken: 0 })

  const lines = screenOf(report({ attacks: reached }), screen, plain)

  assert.ok(lines.some((line) => /^ {2}kill workers.* not reached$/.test(line)))
  assert.ok(lines.some((line) => /--minutes/.test(line)))
})

test("a broken promise is named with the attack, the command that repeats it and the evidence", () => {
  const [promise] = promises
  assert.ok(promise)
  const found: Found = {
    promise,
    detail: "r2c1: run 1 is still running",
    during: "kill workers",
    facts: {} as ThreadFacts,
  }

  const text = screenOf(report({ found: [found] }), { ...screen, evidence: "/tmp/x" }, plain).join("\n")

  assert.match(text, /each acknowledged run ended, and kept its final status +BROKEN, 1 time$/m)
  assert.match(text, /after: kill workers\n +r2c1: run 1 is still running/)
  assert.match(text, /^✖ Broken: 1 promise\.$/m)
  assert.match(text, /superstep prove --seed 7 --minutes 3\n.*\/tmp\/x/)
})

test("a fault of a server is broken, too", () => {
  const text = screenOf(report(), { ...screen, serverFaults: ["{}"] }, plain).join("\n")

  assert.match(text, /no server crashed, or found a rule of its own broken +BROKEN, 1 time/)
  assert.match(text, /^✖ Broken: faults of a server\.$/m)
})
