/** Pull the plug: the control plane is killed again and again while it deploys, and agents do not notice. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { until } from "@superstep/toolkit/testing/until"
import { unlessLong, unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { clientOf, deploy, type Revision, startRevision, untilDeployed } from "./testing/deployments.js"
import type { Platform } from "./testing/installation.js"
import { agentLanguages } from "./testing/languages.js"
import { onlyWithProcesses } from "./testing/machines/machine-of-run.js"
import { startPlatform } from "./testing/platform.js"
import { createRepository, versionFile } from "./testing/repository.js"

/** Kills the control plane the first time a revision shows each status. @returns the statuses at which it was killed */
async function killAtEachStatus(platform: Platform, deploymentId: string, revisionId: string): Promise<string[]> {
  const killedAt: string[] = []
  for (;;) {
    const path = `/v2/deployments/${deploymentId}/revisions/${revisionId}`
    // It was just killed: it is asked again until it is back.
    const reply = await platform.api<Revision>("GET", path).catch(() => undefined)
    const status = reply?.status === 200 ? reply.body.status : undefined
    if (status !== undefined && /DEPLOYED|FAILED|SKIPPED|INTERRUPTED/.test(status)) return killedAt
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

for (const { name: language, skip: withoutLanguage } of agentLanguages) {
  const isSame = "what is killed is the same for both languages"
  const inPython = language === "Python" && (unlessLong(isSame) || onlyWithProcesses(isSame))
  test(`a control plane that is killed at every status still brings a revision in ${language} to its end`, {
    skip: skip || withoutLanguage || inPython,
  }, async () => {
    await using platform = await startPlatform()
    const repository = await createRepository(language)
    const deployment = await deploy(
      platform,
      "plug",
      repository.url,
      [],
      language === "Python" ? "installed" : "linked",
    )
    const client = clientOf(platform, deployment)
    const { thread_id } = await client.threads.create()
    const input = { count: 0, steps: 150, everyMs: 200 }
    const seen: number[] = []
    const conversation = (async () => {
      const stream = client.runs.stream(thread_id, "ticks", {
        input,
        streamMode: ["custom"],
        config: { recursion_limit: 500 },
      })
      for await (const { event, data } of stream as AsyncIterable<{ event: string; data: { tick: number } }>) {
        if (event === "custom") seen.push(data.tick)
      }
    })()
    const failures: string[] = []
    let isOver = false
    const visits = (async () => {
      while (!isOver) {
        const reply = await fetch(`${deployment.source_config.custom_url}/ok`).catch((error: unknown) => error as Error)
        if (!(reply instanceof Response) || !reply.ok)
          failures.push(String(reply instanceof Response ? reply.status : reply))
        else await reply.text()
        await sleep(20)
      }
    })()

    await repository.push(versionFile("v2", language))
    const revisionId = await startRevision(platform, deployment.id)
    const killedAt = await killAtEachStatus(platform, deployment.id, revisionId)
    await untilDeployed(platform, deployment.id, revisionId)
    isOver = true
    await Promise.all([visits, conversation])
    const chunks: string[] = []
    const messages = [{ role: "user", content: "hi" }]
    for await (const { data } of client.runs.stream(null, "chat", { input: { messages }, streamMode: "updates" })) {
      chunks.push(JSON.stringify(data))
    }

    assert.ok(killedAt.length >= 3, `killed only at ${killedAt}`)
    assert.deepEqual(failures, [], `after kills at ${killedAt}`)
    assert.deepEqual(
      seen,
      Array.from({ length: 150 }, (_, n) => n),
    )
    assert.match(chunks.join(), /hello from v2/)
  })
}
