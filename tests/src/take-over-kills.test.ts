/** What can go wrong while one release takes over from another: whatever it is, agents are served. */
import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { readFile, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { join } from "node:path"
import { test } from "node:test"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { type CommandFailed, runCommand } from "@superstep/toolkit/exec/run-command"
import { until } from "@superstep/toolkit/testing/until"
import { unlessLong, unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { clientOf, type Deployment, deploy, startRevision, untilDeployed } from "./testing/deployments.js"
import { thisRelease } from "./testing/last-release.js"
import { keepAsking, keepTalking } from "./testing/live-traffic.js"
import { type LocalPlatform, processesOf, startLocalPlatform } from "./testing/platform.js"
import { installRelease, type Program, startTakeOver, untilUp } from "./testing/releases.js"
import { createRepository } from "./testing/repository.js"

const skip = unlessWide("takes a minute or two")

const { version } = JSON.parse(readFileSync(join(thisRelease.folder, "cli/package.json"), "utf8")) as {
  version: string
}

interface Entry {
  readonly owner: ProcessIdentity
  readonly child?: ProcessIdentity
}

const ownerOf = async ({ home }: LocalPlatform): Promise<Entry | undefined> => {
  const text = await readFile(join(home, "running.json"), "utf8").catch(ifCode(missing))
  return text === undefined ? undefined : (JSON.parse(text) as Entry)
}

const isHealthy = ({ credentials }: LocalPlatform): Promise<boolean> =>
  fetch(`${credentials.url}/health`).then(
    ({ ok }) => ok,
    () => false,
  )

/** Waits until the first program has taken the folder back so many times. */
const untilTakenBack = (platform: LocalPlatform, times: number) =>
  until(() => platform.output().split("Superstep is up").length > times + 1, {
    what: `taken back ${times} times:\n${platform.output()}`,
    timeoutMs: 60_000,
  })

/** Moments of a take-over, as the folder shows them. */
const moments = {
  "has asked for it": (platform: LocalPlatform) => existsSync(join(platform.home, "running.json.next")),
  "has the folder": async (platform: LocalPlatform, { child }: Program) =>
    (await ownerOf(platform))?.owner.pid === child.pid,
  "has started its control plane": async (platform: LocalPlatform, { child }: Program) => {
    const entry = await ownerOf(platform)
    return entry?.owner.pid === child.pid && entry?.child !== undefined
  },
}

test("a take-over that fails or is killed leaves the former program serving; of two at once, one wins", {
  skip: skip || unlessLong("takes two minutes"),
}, async () => {
  const [next, broken, repository] = await Promise.all([
    installRelease("0.9.0"),
    installRelease("0.9.1"),
    createRepository(),
  ])
  await writeFile(join(broken.folder, "control/src/migrations/000999_fail.sql"), "-- It fails.\nselect 1 / 0;\n")
  await using platform = await startLocalPlatform({ env: { SUPERSTEP_WATCH: "1" } })
  const deployment = await deploy(platform, "live", repository.url)
  const conversations = keepTalking(clientOf(platform, deployment), { count: 5, steps: 20 })
  const { custom_url: url } = deployment.source_config
  const requests = keepAsking(url, { apiKey: platform.credentials.api_key, perSecond: 20 })
  let takenBack = 0

  // The new release cannot run.
  const blocker = createServer()
  await new Promise<void>((resolve) => blocker.listen(0, "127.0.0.1", resolve))
  const { port } = blocker.address() as { port: number }
  for (const [release, args, reason] of [
    [broken, [], /migration 000999_fail\.sql failed/],
    [next, ["--port", `${port}`], /port \d+ is in use: choose another with --port/],
  ] as const) {
    const program = startTakeOver(release, platform, { args })
    assert.equal(await program.ended, 1)
    await untilTakenBack(platform, ++takenBack)
    assert.match(program.output(), reason)
    const former = `agents keep running, and process ${platform.pid} (Superstep ${version}) supervises them again`
    assert.ok(program.output().includes(former), program.output())
  }
  blocker.close()

  // The new one is killed.
  for (const [name, isReached] of Object.entries(moments)) {
    const program = startTakeOver(next, platform)
    await until(() => isReached(platform, program), { what: `it ${name}` })
    program.child.kill("SIGKILL")
    await program.ended
    const wasGiven = platform.output().split("takes over").length - 1 > takenBack
    if (wasGiven || name !== "has asked for it") await untilTakenBack(platform, ++takenBack)
    await until(() => isHealthy(platform), { what: "the API answers" })
    assert.equal((await ownerOf(platform))?.owner.pid, platform.pid)
  }

  // The new one is ended by Ctrl-C before it is up.
  const given = startTakeOver(next, platform)
  await until(() => moments["has started its control plane"](platform, given), { what: "it has begun" })
  given.child.kill("SIGINT")
  assert.equal(await given.ended, 0)
  await untilTakenBack(platform, ++takenBack)

  // Two at once.
  const two = [startTakeOver(next, platform), startTakeOver(next, platform)]
  await until(() => two.some(({ output }) => output().includes("Superstep is up")), {
    what: "one of them is up",
    timeoutMs: 60_000,
  })
  const [winner, loser] = two.toSorted((a, b) => Number(a.child.exitCode ?? -1) - Number(b.child.exitCode ?? -1))
  assert.ok(winner && loser)
  assert.equal(await loser.ended, 1)
  assert.match(loser.output(), /process \d+ is already taking over/)
  assert.equal(await platform.ended, 0)

  // The former one is killed while it is asked.
  await using last = startTakeOver(next, platform)
  await until(() => moments["has asked for it"](platform), { what: "it has asked" })
  winner.child.kill("SIGKILL")
  await untilUp(last)
  const revisionId = await startRevision(platform, deployment.id)
  await untilDeployed(platform, deployment.id, revisionId)
  await Promise.all([requests.stop(), conversations.stop()])

  assert.deepEqual([...new Set(requests.answers.map(({ failure }) => failure))], [""])
  assert.deepEqual([...new Set(conversations.ended.map(({ problem }) => problem))], [""])
  assert.ok(requests.answers.some(({ revision }) => revision === revisionId))
  last.child.kill("SIGINT")
  assert.equal(await last.ended, 0)
  assert.deepEqual(await processesOf(platform.home), [])
})

test("what a removed release started goes on, and is deployed anew without a cut", { skip }, async () => {
  const [former, next, repository] = await Promise.all([
    installRelease("0.8.0"),
    installRelease("0.9.0"),
    createRepository(),
  ])
  await using platform = await startLocalPlatform({ env: { SUPERSTEP_WATCH: "1" } })
  await using first = startTakeOver(former, platform)
  await untilUp(first)
  const deployment = await deploy(platform, "live", repository.url)
  const conversations = keepTalking(clientOf(platform, deployment), { count: 5, steps: 20 })
  const { custom_url: url } = deployment.source_config
  const requests = keepAsking(url, { apiKey: platform.credentials.api_key, perSecond: 20 })

  await rm(former.folder, { recursive: true })
  const doctor = await runCommand({
    argv: [process.execPath, join(next.folder, "cli/programs/main.js"), "doctor", "--home", platform.home],
    cwd: next.folder,
    env: { PATH: process.env.PATH ?? "" },
    timeoutMs: 60_000,
  }).catch((error: CommandFailed) => error)
  await using last = startTakeOver(next, platform)
  await untilUp(last)
  await until(() => last.output().includes("live used program files that were replaced or removed"), {
    what: `the agent is deployed anew: ${last.output()}`,
    timeoutMs: 120_000,
  })
  await Promise.all([requests.stop(), conversations.stop()])

  assert.match(
    String(doctor instanceof Error && doctor.lastLines),
    /1 agents use program files that were replaced or removed/,
  )
  assert.equal(await first.ended, 0)
  assert.match(first.output(), /process \d+ \(Superstep 0\.9\.0\) has taken over; agents kept running/)
  assert.deepEqual([...new Set(requests.answers.map(({ failure }) => failure))], [""])
  assert.deepEqual([...new Set(conversations.ended.map(({ problem }) => problem))], [""])
  const { body } = await platform.api<Deployment>("GET", `/v2/deployments/${deployment.id}`)
  assert.notEqual(body.active_revision_id, deployment.active_revision_id)
  last.child.kill("SIGINT")
  assert.equal(await last.ended, 0)
  assert.deepEqual(await processesOf(platform.home), [])
})
