/** Pull the plug: the control plane is killed again and again while it deploys, and agents do not notice. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { clientOf, deploy, type Revision, startRevision, untilDeployed } from "./testing/deployments.js"
import type { Platform } from "./testing/installation.js"
import { keepAsking, keepTalking } from "./testing/live-traffic.js"
import { startPlatform } from "./testing/platform.js"
import { createRepository, versionFile } from "./testing/repository.js"

/** Kills the control plane when a revision shows a status at which it was not killed before. @param killedAt  these statuses; gets the new ones */
async function killAtEachStatus(
  platform: Platform,
  killedAt: string[],
  deploymentId: string,
  revisionId: string,
): Promise<void> {
  for (;;) {
    const path = `/v2/deployments/${deploymentId}/revisions/${revisionId}`
    // It was just killed: it is asked again until it is back.
    const reply = await platform.api<Revision>("GET", path).catch(() => undefined)
    const status = reply?.status === 200 ? reply.body.status : undefined
    if (status !== undefined && /DEPLOYED|FAILED|SKIPPED|INTERRUPTED/.test(status)) return
    if (status !== undefined && !killedAt.includes(status)) {
      const pid = await until(() => platform.controlPid(), { what: "the control plane's process" })
      process.kill(pid, "SIGKILL")
      killedAt.push(status)
      await until(async () => (await platform.controlPid()) !== pid, { what: "the killed process to be gone" })
    }
    await sleep(10)
  }
}

// crash.wide.test.ts of the pipeline does a part of it in less time.
const skip = unlessWide("takes a minute")

test("a control plane that is killed at every status still brings a revision to its end", { skip }, async () => {
  await using platform = await startPlatform()
  const repository = await createRepository()
  const deployment = await deploy(platform, "plug", repository.url)
  const client = clientOf(platform, deployment)
  // It lasts longer than the deployment, and ends by itself.
  const conversation = keepTalking(client, { count: 1, steps: 150 })
  const visits = keepAsking(deployment.source_config.custom_url, {
    apiKey: platform.credentials.api_key,
    perSecond: 20,
  })

  const killedAt: string[] = []
  let version = 1
  // A status may pass while the control plane restarts. The next revision is not killed before it.
  while (killedAt.length < 3) {
    await repository.push(versionFile(`v${++version}`))
    const revisionId = await startRevision(platform, deployment.id)
    await killAtEachStatus(platform, killedAt, deployment.id, revisionId)
    await untilDeployed(platform, deployment.id, revisionId)
  }
  await Promise.all([visits.stop(), conversation.stop()])
  const chunks: string[] = []
  const messages = [{ role: "user", content: "hi" }]
  for await (const { data } of client.runs.stream(null, "chat", { input: { messages }, streamMode: "updates" })) {
    chunks.push(JSON.stringify(data))
  }

  const failures = visits.answers.map(({ failure }) => failure)
  assert.deepEqual([...new Set(failures)], [""], `after kills at ${killedAt}`)
  assert.deepEqual([...new Set(conversation.ended.map(({ problem }) => problem))], [""])
  assert.match(chunks.join(), new RegExp(`hello from v${version}\\b`))
})
