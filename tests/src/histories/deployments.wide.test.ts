/** The bounded form of `npm run chaos -- --deployments`. */
import assert from "node:assert/strict"
import { randomInt } from "node:crypto"
import { test } from "node:test"
import { skip } from "@superstep/toolkit/testing/processes"
import { runsLongTests } from "@superstep/toolkit/testing/wide-tests"
import { deploymentCampaign, renderDeployments } from "./deployment-campaign.js"

test("some order explains what several clients see of a deployment while its control plane is killed", {
  skip,
}, async (t) => {
  const report = await deploymentCampaign(
    runsLongTests ? { kills: 20, seed: randomInt(2 ** 31) } : { kills: 1, seed: 1 },
  )

  t.diagnostic(renderDeployments(report))
  assert.deepEqual(report.faults, [], renderDeployments(report))
  assert.deepEqual(report.undecided, [])
})
