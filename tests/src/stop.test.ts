/** Ctrl-C stops all that was started, whatever was going on, and the next start carries on with it. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { clientOf, type Deployment, deploy, deploymentOf, type Revision, untilDeployed } from "./testing/deployments.js"
import { processesOf, startLocalPlatform } from "./testing/platform.js"
import { createRepository } from "./testing/repository.js"

test("Ctrl-C in the middle of a build leaves no process, and the next start ends the revision", {
  skip: unlessWide("builds twice with nothing cached"),
}, async () => {
  const home = temporaryFolder()
  const repository = await createRepository()
  const first = await startLocalPlatform({ home })
  const created = await first.api<Deployment>(
    "POST",
    "/v2/deployments",
    deploymentOf("halfway", repository.url, "installed"),
  )
  const { id, latest_revision_id: revisionId } = created.body
  const isBuilding = async () => {
    const { body } = await first.api<Revision>("GET", `/v2/deployments/${id}/revisions/${revisionId}`)
    return body.status === "BUILDING"
  }
  await until(isBuilding, { what: "the revision is being built", timeoutMs: 60_000 })

  await first[Symbol.asyncDispose]()
  const left = await processesOf(home)
  await using second = await startLocalPlatform({ home })
  await untilDeployed(second, id, revisionId)

  assert.deepEqual(left, [])
})

test("Ctrl-C says that it waits for a run, and a second one ends everything", {
  skip: unlessWide("builds an agent"),
}, async () => {
  const platform = await startLocalPlatform()
  const repository = await createRepository()
  const deployment = await deploy(platform, "busy", repository.url)
  const client = clientOf(platform, deployment)
  const input = { steps: 100_000, everyMs: 100 }
  const { thread_id } = await client.threads.create()
  const { run_id } = await client.runs.create(thread_id, "ticks", { input })
  const isRunning = async () => (await client.runs.get(thread_id, run_id)).status === "running"
  await until(isRunning, { what: "the run executes" })

  process.kill(platform.pid, "SIGINT")
  await until(() => /waiting until an agent server finishes its runs/.test(platform.output()), { what: "it says so" })
  process.kill(platform.pid, "SIGINT")
  await platform.ended

  assert.deepEqual(await processesOf(platform.home), [])
})
