/**
 * Servers of the last release and of this one on one database, as while `superstep serve` is upgraded one server after the other, and back: what
 * one does the other continues, joins and cancels.
 */
import assert from "node:assert/strict"
import { test } from "node:test"
import { skip as withoutProc } from "@superstep/toolkit/testing/processes"
import { seedOfCommit } from "@superstep/toolkit/testing/seed-of-commit"
import { campaign } from "../chaos/campaign.js"
import { renderReport } from "../chaos/report.js"
import { severalServers } from "../chaos/several-servers.js"
import { lastRelease, serverOf, thisRelease, withoutLastRelease } from "../testing/last-release.js"

const skip = withoutLastRelease || withoutProc
const mains = [lastRelease, thisRelease].map(serverOf)

for (const [title, programs] of [
  ["a server of the last release executes, one of this release is asked", mains],
  ["a server of this release executes, one of the last release is asked", mains.toReversed()],
] as const)
  test(title, { skip }, (t) => severalServers(t, { mainOf: (server) => programs[server] ?? "" }))

test("servers that are killed and change their release with each start lose and repeat nothing", {
  skip,
}, async (t) => {
  const seed = seedOfCommit()
  t.diagnostic(`seed ${seed}`)

  const report = await campaign({ kills: 6, seed, mains })

  t.diagnostic(`\n${renderReport(report)}`)
  assert.deepEqual(report.broken, [], renderReport(report))
})
