/** The bounded form of `npm run chaos -- --outages all`. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { skip } from "@superstep/toolkit/testing/processes"
import { seedOfCommit } from "@superstep/toolkit/testing/seed-of-commit"
import { runsLongTests } from "@superstep/toolkit/testing/wide-tests"
import { outageKinds } from "./outage-kinds.js"
import { outagesCampaign, renderOutages } from "./outages.js"

const kinds = runsLongTests ? outageKinds : (["locked run", "silence"] as const)

test("no run is attempted again because of an outage, or of a transaction that holds another run", {
  skip,
}, async (t) => {
  const seed = seedOfCommit()
  t.diagnostic(`seed ${seed}`)

  const report = await outagesCampaign({ seed, outages: kinds.length, kinds })

  t.diagnostic(renderOutages(report))
  assert.deepEqual(report.broken, [])
})
