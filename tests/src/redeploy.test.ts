/** Deploy under a live conversation: a new revision takes over, and nobody who is connected notices. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { runsLongTests, unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { clientOf, type Deployment, deploy, startRevision, untilDeployed } from "./testing/deployments.js"
import { keepAsking, keepTalking } from "./testing/live-traffic.js"
import { startPlatform } from "./testing/platform.js"
import { createRepository, versionFile } from "./testing/repository.js"

interface Tick {
  readonly tick: number
  readonly version: string
}

const streamCount = 20

/** How often a secret is changed behind the first redeploy. A hundred take a quarter of an hour on two processors. */
const more = Number(process.env.SUPERSTEP_TEST_REDEPLOYS ?? (runsLongTests ? 6 : 1))

const skip = unlessWide("takes a minute")

test("a redeploy under twenty open streams and steady requests fails none and cuts none", { skip }, async (t) => {
  await using platform = await startPlatform()
  const repository = await createRepository()
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
  const { custom_url: url } = deployment.source_config
  const requests = keepAsking(url, { apiKey: platform.credentials.api_key, perSecond: runsLongTests ? 50 : 20 })
  const isRunning = async () => (await client.runs.get(background, old.run_id)).status === "running"
  await until(isRunning, { what: "the background run executes on the old unit" })
  await repository.push(versionFile("v2"))
  const order = [deployment.latest_revision_id, await startRevision(platform, deployment.id)]
  await untilDeployed(platform, deployment.id, order[1] ?? "")

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
  await conversations.stop()
  const shorter = keepTalking(client, { count: streamCount, steps: 12 })
  for (let turn = 1; turn <= more; turn++) {
    const changed = { secrets: [...secrets, { name: "TURN", value: `turn ${turn} of the test` }] }
    const { body } = await platform.api<Deployment>("PATCH", `/v2/deployments/${deployment.id}`, changed)
    order.push(body.latest_revision_id)
    await untilDeployed(platform, deployment.id, body.latest_revision_id)
  }
  await Promise.all([requests.stop(), shorter.stop()])

  const { answers } = requests
  t.diagnostic(`${order.length - 1} redeploys, ${answers.length} requests, ${shorter.ended.length} more streams`)
  assert.deepEqual(
    answers.filter(({ failure }) => failure !== ""),
    [],
  )
  assert.deepEqual([...new Set(answers.map(({ revision }) => revision))].sort(), order.toSorted())
  for (const [index, revision] of order.entries()) {
    const first = answers.filter((answer) => answer.revision === revision).map(({ answeredAt }) => answeredAt)
    const late = answers.filter(({ askedAt, revision: of }) => askedAt > (first[0] ?? "") && order.indexOf(of) < index)
    assert.deepEqual(late, [], "an older revision answered after a newer one")
  }
  assert.equal(conversations.ended.length, streamCount)
  for (const { problem, versions } of conversations.ended) assert.deepEqual([problem, versions], ["", ["v1"]])
  assert.deepEqual([...new Set(shorter.ended.map(({ problem }) => problem))], [""])
  assert.ok(joined.length >= 3)
  assert.equal(joined[0]?.version, "v1")
  assert.equal(end, "interrupted")
  assert.equal((await client.runs.get(background, old.run_id)).status, "interrupted")
})
