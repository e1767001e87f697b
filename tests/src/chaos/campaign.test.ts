/** The bounded form of `npm run chaos`: every kind of kill at every point, some of them in `npm test`, 200 in CI. */
import assert from "node:assert/strict"
import { randomInt } from "node:crypto"
import { test } from "node:test"
import { runsWideTests } from "@superstep/toolkit/testing/wide-tests"
import { campaign } from "./campaign.js"
import { skip } from "./processes.js"
import { renderReport, totalKills } from "./report.js"

const kills = runsWideTests ? 200 : 12

test(`after ${kills} kills no run is lost, no committed node has run again, and no stream has a hole`, {
  skip,
}, async (t) => {
  const seed = randomInt(2 ** 31)
  t.diagnostic(`seed ${seed}`)

  const report = await campaign({ kills, seed })

  t.diagnostic(`\n${renderReport(report)}`)
  assert.ok(totalKills(report) >= kills)
  assert.deepEqual(report.broken, [], renderReport(report))
})
