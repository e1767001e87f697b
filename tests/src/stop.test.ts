/** Ctrl-C stops all that was started, whatever was going on, and the next start carries on with it. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { type Deployment, deploymentOf, type Revision, untilDeployed } from "./testing/deployments.js"
import { processesOf, startPlatform } from "./testing/platform.js"
import { createRepository } from "./testing/repository.js"

test("Ctrl-C in the middle of a build leaves no process, and the next start ends the revision", {
  skip: unlessWide("builds twice with nothing cached"),
}, async () => {
  const home = temporaryFolder()
  const repository = await createRepository()
  const first = await startPlatform({ home })
  const created = await first.api<Deployment>("POST", "/v2/deployments", deploymentOf("halfway", repository.url))
  const { id, latest_revision_id: revisionId } = created.body
  const isBuilding = async () => {
    const { body } = await first.api<Revision>("GET", `/v2/deployments/${id}/revisions/${revisionId}`)
    return body.status === "BUILDING"
  }
  await until(isBuilding, { what: "the revision is being built", timeoutMs: 60_000 })

  await first[Symbol.asyncDispose]()
  const left = await processesOf(home)
  await using second = await startPlatform({ home })
  await untilDeployed(second, id, revisionId)

  assert.deepEqual(left, [])
})
