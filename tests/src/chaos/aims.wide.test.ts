/** The bounded form of `npm run chaos -- --aims quick`: the aims that hit within seconds, with few kills. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { skip } from "@superstep/toolkit/testing/processes"
import { aimsOf } from "./aims.js"
import { campaign } from "./campaign.js"
import { renderReport } from "./report.js"

test("no promise is broken when replies of commits are lost, requests break and notifications are held", {
  skip,
}, async (t) => {
  const aims = aimsOf("quick").filter(({ isRare }) => !isRare)

  const report = await campaign({ kills: 2, seed: 1, histories: true, aims })

  t.diagnostic(`\n${renderReport(report)}`)
  assert.deepEqual(report.broken, [], renderReport(report))
})
