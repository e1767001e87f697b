/** One revision after the other under steady requests and open streams: no request fails, no stream is cut. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { runsLongTests } from "@superstep/toolkit/testing/wide-tests"
import { clientOf, deploy, untilDeployed } from "./testing/deployments.js"
import type { Platform } from "./testing/installation.js"
import { agentLanguages } from "./testing/languages.js"
import { keepAsking, keepTalking } from "./testing/live-traffic.js"
import { startPlatform } from "./testing/platform.js"
import { createRepository } from "./testing/repository.js"

// A redeploy under this load takes some seconds on two processors: SUPERSTEP_TEST_REDEPLOYS=100 takes a quarter of an hour.
const asked = process.env.SUPERSTEP_TEST_REDEPLOYS
const wideRedeploys = Number(asked ?? 6)
const size = runsLongTests
  ? { redeploys: wideRedeploys, streams: 30, perSecond: 50, steps: 60 }
  : { redeploys: 1, streams: 5, perSecond: 20, steps: 12 }

/** A new revision of the same code: only a secret is another. */
async function changeSecret(platform: Platform, deploymentId: string, value: string): Promise<string> {
  const secrets = [
    { name: "N_JOBS_PER_WORKER", value: "50" },
    { name: "TURN", value },
  ]
  const reply = await platform.api<{ latest_revision_id: string }>("PATCH", `/v2/deployments/${deploymentId}`, {
    secrets,
  })
  assert.equal(reply.status, 200, JSON.stringify(reply.body))
  return reply.body.latest_revision_id
}

for (const { name: language, skip } of agentLanguages)
  test(`no request fails and no stream is cut while one revision in ${language} follows the other`, {
    skip: skip || (language === "Python" && asked === undefined && "redeploy.test.ts redeploys an agent in Python"),
  }, async (t) => {
    await using platform = await startPlatform({ env: { SUPERSTEP_WATCH: "1", SUPERSTEP_WORKERS: "2" } })
    const repository = await createRepository(language)
    // The packages of this repository are those of JavaScript only.
    const packages = language === "JavaScript" ? "linked" : "installed"
    const secrets = [{ name: "N_JOBS_PER_WORKER", value: "50" }]
    const deployment = await deploy(platform, "live", repository.url, secrets, packages)
    const url = deployment.source_config.custom_url
    const conversations = keepTalking(clientOf(platform, deployment), { count: size.streams, steps: size.steps })
    const requests = keepAsking(url, { apiKey: platform.credentials.api_key, perSecond: size.perSecond })

    const order = [deployment.latest_revision_id]
    const behind: (readonly [string, string[]])[] = []
    try {
      for (let turn = 1; turn <= size.redeploys; turn++) {
        const revisionId = await changeSecret(platform, deployment.id, `turn ${turn} of the test`)
        await untilDeployed(platform, deployment.id, revisionId)
        // C5: DEPLOYED means that all traffic is on it.
        const seen: string[] = []
        for (let n = 0; n < 6; n++) {
          const reply = await fetch(`${url}/ok?check_db=1`)
          await reply.text()
          seen.push(`${reply.status} ${reply.headers.get("x-revision-id")}`)
        }
        behind.push([revisionId, [...new Set(seen)]])
        order.push(revisionId)
      }
    } finally {
      // Else the process of a test that fails asks for ever.
      await Promise.all([requests.stop(), conversations.stop()])
    }

    const { answers } = requests
    t.diagnostic(`${size.redeploys} redeploys, ${answers.length} requests, ${conversations.ended.length} streams`)
    for (const { failure, askedAt, answeredAt } of answers.filter(({ failure }) => failure !== ""))
      t.diagnostic(`asked ${askedAt}, failed ${answeredAt}: ${failure}`)
    for (const { problem, endedAt } of conversations.ended.filter(({ problem }) => problem !== ""))
      t.diagnostic(`stream failed ${endedAt}: ${problem}`)
    assert.deepEqual([...new Set(answers.map(({ failure }) => failure))], [""])
    assert.deepEqual([...new Set(conversations.ended.map(({ problem }) => problem))], [""])
    for (const [revisionId, seen] of behind) assert.deepEqual(seen, [`200 ${revisionId}`])
    const served = new Set(answers.map(({ revision }) => revision))
    assert.deepEqual(
      [...served].filter((id) => !order.includes(id)),
      [],
      "an answer has the name of no revision",
    )
    assert.ok(served.has(order.at(-1) ?? ""), "the last revision has answered")
  })
