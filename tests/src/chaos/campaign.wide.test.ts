/**
 * The bounded form of `npm run chaos`: every kind of kill at every point, twelve in the wide tests, 78 in the long tests. Four servers at once have a
 * file of their own.
 */
import assert from "node:assert/strict"
import { test } from "node:test"
import { skip } from "@superstep/toolkit/testing/processes"
import { seedOfCommit } from "@superstep/toolkit/testing/seed-of-commit"
import { runsLongTests } from "@superstep/toolkit/testing/wide-tests"
import { campaign } from "./campaign.js"
import { chaosLanguages } from "./languages.js"
import { renderReport, totalKills } from "./report.js"

const killsOf = runsLongTests ? { JavaScript: 54, Python: 24 } : { JavaScript: 6, Python: 6 }

for (const { name, env, skip: withoutLanguage } of chaosLanguages) {
  const kills = killsOf[name]
  test(`after ${kills} kills no run in ${name} is lost, no committed node has run again, and no stream has a hole`, {
    skip: skip || withoutLanguage,
  }, async (t) => {
    const seed = seedOfCommit()
    t.diagnostic(`seed ${seed}`)

    const report = await campaign({ kills, seed, env })

    t.diagnostic(`\n${renderReport(report)}`)
    assert.ok(totalKills(report) >= kills)
    assert.deepEqual(report.broken, [], renderReport(report))
  })
}
