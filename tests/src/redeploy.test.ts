/** Deploy under a live conversation: a new revision takes over, and nobody who is connected notices. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { until } from "@superstep/toolkit/testing/until"
import { unlessLong, unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { clientOf, deploy, startRevision, untilDeployed } from "./testing/deployments.js"
import { agentLanguages } from "./testing/languages.js"
import { keepTalking } from "./testing/live-traffic.js"
import { onlyWithProcesses } from "./testing/machines/machine-of-run.js"
import { startPlatform } from "./testing/platform.js"
import { createRepository, versionFile } from "./testing/repository.js"

interface Tick {
  readonly tick: number
  readonly version: string
}

const streamCount = 20

/** Steady requests until it is told to stop. @returns how each was answered */
function keepAsking(url: string, apiKey: string): { stop(): Promise<{ failed: string[]; versions: string[] }> } {
  const failed: string[] = []
  const versions: string[] = []
  let isStopped = false
  const askOnce = async () => {
    const body = JSON.stringify({ assistant_id: "chat", input: { messages: [{ role: "user", content: "hi" }] } })
    const headers = { "content-type": "application/json", "x-api-key": apiKey }
    const reply = await fetch(`${url}/runs/stream`, { method: "POST", headers, body })
    const text = await reply.text()
    if (reply.status !== 200 || !text.includes('"status":"success"')) failed.push(`${reply.status} ${text}`)
    versions.push(/hello from (\w+)/.exec(text)?.[1] ?? "none")
  }
  const loop = (async () => {
    while (!isStopped) {
      await askOnce().catch((error: unknown) => failed.push(String(error)))
      await sleep(50)
    }
  })()
  const stop = async () => {
    isStopped = true
    await loop
    return { failed, versions }
  }
  return { stop }
}

// redeploys.wide.test.ts does a part of it in less time.
const skip = unlessWide("takes a minute")

for (const { name: language, skip: withoutLanguage } of agentLanguages) {
  const isSame = "units of both languages are replaced in the same way"
  const inPython = language === "Python" && (unlessLong(isSame) || onlyWithProcesses(isSame))
  test(`a redeploy in ${language} under twenty open streams and steady requests fails none and cuts none`, {
    skip: skip || withoutLanguage || inPython,
  }, async () => {
    await using platform = await startPlatform()
    const repository = await createRepository(language)
    // Room in its one worker for every conversation and the requests beside them.
    const secrets = [{ name: "N_JOBS_PER_WORKER", value: "50" }]
    const deployment = await deploy(platform, "live", repository.url, secrets, "installed")
    const client = clientOf(platform, deployment)
    const { thread_id: background } = await client.threads.create()

    // Longer than any deployment takes: the test ends them.
    const conversations = keepTalking(client, { count: streamCount, steps: 1000 })
    const old = await client.runs.create(background, "ticks", {
      // Longer than any deployment takes; the test cancels it.
      input: { count: 0, steps: 1000, everyMs: 250 },
      streamMode: ["custom"],
      config: { recursion_limit: 1100 },
    })
    const requests = keepAsking(deployment.source_config.custom_url, platform.credentials.api_key)
    const isRunning = async () => (await client.runs.get(background, old.run_id)).status === "running"
    await until(isRunning, { what: "the background run executes on the old unit" })
    await repository.push(versionFile("v2", language))
    await untilDeployed(platform, deployment.id, await startRevision(platform, deployment.id))

    // The old unit still executes this run; the new one serves every request.
    const joined: Tick[] = []
    let end = "none"
    let isCancelled = false
    for await (const chunk of client.runs.joinStream(background, old.run_id)) {
      const { event, data } = chunk as { event: string; data: unknown }
      if (event === "custom") joined.push(data as Tick)
      if (event === "end") end = (data as { status: string }).status
      if (joined.length < 3 || isCancelled) continue
      isCancelled = true
      await client.runs.cancel(background, old.run_id, true)
    }
    const after = await fetch(`${deployment.source_config.custom_url}/ok`)
    const { failed, versions } = await requests.stop()
    await conversations.stop()

    assert.deepEqual(failed, [])
    assert.deepEqual([...new Set(versions)], ["v1", "v2"], "the revisions did not follow each other")
    assert.deepEqual(versions, [...versions].sort(), "the old revision answered after the new one")
    assert.equal(conversations.ended.length, streamCount)
    for (const { problem, versions } of conversations.ended) assert.deepEqual([problem, versions], ["", ["v1"]])
    assert.ok(joined.length >= 3)
    assert.equal(joined[0]?.version, "v1")
    assert.equal(end, "interrupted")
    assert.equal((await client.runs.get(background, old.run_id)).status, "interrupted")
    assert.match(after.headers.get("x-revision-id") ?? "", /^[0-9a-f-]{36}$/)
    assert.notEqual(after.headers.get("x-revision-id"), deployment.latest_revision_id)
  })
}
