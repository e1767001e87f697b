/** An upgrade: a newer release takes the installation over from the one that runs, under traffic. */
import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import type { ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { until } from "@superstep/toolkit/testing/until"
import { clientOf, deploy } from "./testing/deployments.js"
import { keepAsking, keepTalking } from "./testing/live-traffic.js"
import { processesOf, startLocalPlatform } from "./testing/platform.js"
import { installRelease, startTakeOver, untilUp } from "./testing/releases.js"
import { createRepository } from "./testing/repository.js"

const pidOf = (home: string, file: string) =>
  (JSON.parse(readFileSync(join(home, file), "utf8")) as ProcessIdentity).pid

/** What serves agents: it is to go on. */
const serving = (home: string) => ({
  postgres: readFileSync(join(home, "postgres/data/postmaster.pid"), "utf8").split("\n")[0],
  units: readdirSync(join(home, "units")).map((unitId) => pidOf(home, `units/${unitId}/pid.json`)),
})

test("a newer release takes over: no request fails, no stream is cut, and the former program ends well", async () => {
  const [next, repository] = await Promise.all([installRelease("0.9.0"), createRepository()])
  await using platform = await startLocalPlatform({ env: { SUPERSTEP_WATCH: "1" } })
  const { home } = platform
  const deployment = await deploy(platform, "live", repository.url)
  const conversations = keepTalking(clientOf(platform, deployment), { count: 5, steps: 8 })
  const requests = keepAsking(deployment.source_config.custom_url, {
    apiKey: platform.credentials.api_key,
    perSecond: 20,
  })
  const before = { ...serving(home), edge: pidOf(home, "edge/pid.json") }

  await using program = startTakeOver(next, platform)
  await untilUp(program)
  const after = { ...serving(home), edge: pidOf(home, "edge/pid.json") }
  const seen = requests.answers.length
  await until(() => requests.answers.length > seen + 20, { what: "requests go on" })
  const { status } = await platform.api("GET", `/v2/deployments/${deployment.id}`)
  await Promise.all([requests.stop(), conversations.stop()])

  assert.equal(await platform.ended, 0)
  assert.match(platform.output(), /process \d+ \(Superstep 0\.9\.0\) has taken over; agents kept running/)
  assert.deepEqual([...new Set(requests.answers.map(({ failure }) => failure))], [""])
  assert.deepEqual([...new Set(conversations.ended.map(({ problem }) => problem))], [""])
  assert.equal(status, 200)
  const { edge, ...others } = after
  assert.notEqual(edge, before.edge, "the edge is of the newer release")
  assert.deepEqual(others, { postgres: before.postgres, units: before.units })
  program.child.kill("SIGINT")
  assert.equal(await program.ended, 0)
  assert.deepEqual(await processesOf(home), [])
})
