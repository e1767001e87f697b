/** The campaign of `campaign.wide.test.ts` against four servers, which are also paused and cut off from Postgres. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { skip } from "@superstep/toolkit/testing/processes"
import { seedOfCommit } from "@superstep/toolkit/testing/seed-of-commit"
import { runsLongTests } from "@superstep/toolkit/testing/wide-tests"
import { campaign } from "./campaign.js"
import { renderReport } from "./report.js"

// With the usual lease, and Postgres away for up to a minute, where there is time for it.
const several = runsLongTests
  ? { kills: 24, servers: 4 }
  : { kills: 1, rounds: 2, servers: 4, leaseSeconds: 2, cutMs: [3_000], first: 0 }

test("four servers that are killed, paused beyond their leases and cut off from Postgres lose and repeat nothing", {
  skip,
}, async (t) => {
  const seed = seedOfCommit()
  t.diagnostic(`seed ${seed}`)

  const report = await campaign({ ...several, seed })

  t.diagnostic(`\n${renderReport(report)}`)
  for (const disturbance of ["paused server", "network"])
    assert.ok(report.kills.some(({ target }) => target === disturbance))
  assert.deepEqual(report.broken, [], renderReport(report))
})
