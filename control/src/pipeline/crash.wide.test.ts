/**
 * The control plane is killed at every named point (planner/crash-points.ts), alone, or in a rollout together with the edge or a
 * unit, and every revision ends as if nothing had happened. Afterwards nothing is left over that is not in the tables.
 */

import assert from "node:assert/strict"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import { before, test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { runsLongTests, unlessLong } from "@superstep/toolkit/testing/wide-tests"
import { shared } from "../testing/api.js"
import { killedPlatform } from "./testing/killed-platform.js"
import { untilNothingIsLeft } from "./testing/leftovers.js"
import { deploymentOf, testPlatform } from "./testing/platform.js"

const platform = shared(() => killedPlatform())
let deploymentId: string
let served: string
before(() => {
  ;({ deploymentId, firstRevisionId: served } = platform)
})

/** Starts the control plane once per point, to die there; the last start stays alive. */
async function dieAt(points: readonly string[], work: () => Promise<void>): Promise<void> {
  const [first = "", ...others] = points
  await platform.start({ SUPERSTEP_CRASH_AT: first })
  await work()
  for (const point of [...others, ""]) {
    await platform.untilDead()
    await platform.start({ SUPERSTEP_CRASH_AT: point })
  }
}

const victims = ["edge", "old unit", "new unit"] as const
type Death = readonly [point: string, alsoKilled?: (typeof victims)[number]]

/** Each revision dies at all points of its row; two deaths in one stage are allowed. */
const pointsOfRevisions: readonly (readonly string[])[] = [
  [
    ...["fetch:after-tree", "build:after-publish", "unit:after-spawn", "switch:after-activate", "table:after-row"],
    ...["verify:before-advance", "watch:after-end", "unit:after-remove"],
  ],
  ["queue:begin", "fetch:after-resolve", "build:after-start", "deploy:after-unit-row", "switch:before-push"],
  ["queue:after-provision", "fetch:after-fetch", "build:after-artifact-row", "deploy:after-start", "switch:after-push"],
  ["queue:after-advance", "build:begin", "build:before-advance", "switch:begin", "switch:after-commit"],
  ["fetch:begin", "fetch:after-advance", "build:after-advance", "deploy:begin", "deploy:after-advance"],
  ["switch:after-advance", "verify:begin", "verify:after-advance", "unit:after-stop"],
]
const pointsOfRollout = [
  ["deploy:after-start", "switch:before-push", "verify:begin"],
  ["switch:begin", "switch:after-push", "verify:before-advance"],
  ["switch:after-activate", "switch:after-commit", "watch:after-end"],
] as const
/** Every victim at every point of a rollout, in each revision at a point of each column. */
const withVictims = pointsOfRollout.flatMap((row) =>
  victims.map((_, turn) =>
    row.map((point, column): Death => [point, victims[(column + turn) % victims.length] ?? "edge"]),
  ),
)
const few: readonly (readonly Death[])[] = [
  [
    ["deploy:after-start", "old unit"],
    ["switch:before-push", "edge"],
  ],
  [["switch:begin", "new unit"]],
]
const alone = pointsOfRevisions.map((row) => row.map((point): Death => [point]))
// The first row has a point of each stage.
const rows = runsLongTests ? [...alone, ...withVictims] : [...alone.slice(0, 1), ...few]

for (const deaths of rows) {
  const title = deaths.map(([point, victim]) => (victim ? `${point} with the ${victim}` : point)).join(", ")
  test(`killed at ${title}: it goes on each time, an agent answers all the while, nothing is left`, async () => {
    const [[first] = [""]] = deaths
    await platform.start({ SUPERSTEP_CRASH_AT: first })
    const revisionId = await platform.change()
    for (const [index, [, victim]] of deaths.entries()) {
      await platform.untilDead()
      if (!victim) assert.ok([served, revisionId].includes((await platform.revisionBehind()) ?? ""))
      else if (victim === "edge") killIn(join(platform.home, "edge"))
      else killIn(await platform.unitFolder(victim === "old unit" ? served : revisionId))
      await platform.start({ SUPERSTEP_CRASH_AT: deaths[index + 1]?.[0] ?? "" })
    }

    await platform.untilServed(revisionId)
    served = revisionId
  })
}

/** Kills the process whose pid file is in this folder. */
function killIn(folder: string): void {
  const { pid } = JSON.parse(readFileSync(join(folder, "pid.json"), "utf8")) as { pid: number }
  process.kill(pid, "SIGKILL")
}

/**
 * Kills the control plane three times at one point of a new revision, then lets it go on. @returns  the revision when it
 * has ended
 */
async function thriceAt(point: string) {
  let revisionId = ""
  await dieAt([point, point, point], async () => {
    revisionId = await platform.change()
  })
  return platform.untilEnded(deploymentId, revisionId)
}

test("a revision that fails after its switch gives the route back", async () => {
  const revision = await thriceAt("switch:after-push")

  assert.deepEqual([revision.status, revision.error_code], ["DEPLOY_FAILED", "crash_loop_guard"])
  await until(async () => (await platform.revisionBehind()) === served, { what: "the old revision serves again" })
  const { body: deployment } = await platform.call("GET", `/v2/deployments/${deploymentId}`)
  assert.equal(deployment.active_revision_id, served)
  await untilNothingIsLeft(platform)
  await platform.kill()
})

test("killed while a canary begins, is promoted and is aborted: each comes to its end", {
  skip: unlessLong("takes half a minute"),
}, async () => {
  const settings = (source_config: object, unset: string[] = []) =>
    platform.call("PATCH", `/v2/deployments/${deploymentId}`, { source_config, unset })
  const ask = (revisionId: string, action: string, body = {}) =>
    platform.call("POST", `/v2/deployments/${deploymentId}/revisions/${revisionId}/${action}`, body)
  const trafficOf = async (revisionId: string) =>
    (await platform.call("GET", `/v2/deployments/${deploymentId}/revisions/${revisionId}`)).body.traffic?.weight ?? null
  let canary = ""
  await dieAt(["switch:after-canary"], async () => {
    await settings({ canary_weight: 10 })
    canary = await platform.change()
  })
  assert.equal((await platform.untilEnded(deploymentId, canary)).status, "DEPLOYED")
  assert.deepEqual([await trafficOf(served), await trafficOf(canary)], [90, 10])
  assert.equal(await platform.revisionBehind(), served, "requests meet the revision that serves")
  await platform.kill()

  await dieAt(["promote:after-activate", "promote:after-role"], async () => {
    assert.equal((await ask(canary, "promote")).status, 200)
  })
  await until(async () => (await platform.revisionBehind()) === canary, { what: "the canary serves" })
  assert.deepEqual([await trafficOf(served), await trafficOf(canary)], [null, 100])
  served = canary
  canary = await platform.change()
  assert.equal((await platform.untilEnded(deploymentId, canary)).status, "DEPLOYED")
  await platform.kill()

  await dieAt(["abort:after-role"], async () => {
    assert.equal((await ask(canary, "abort")).status, 200)
  })
  await until(async () => (await trafficOf(canary)) === null, { what: "the canary has no threads" })
  assert.deepEqual([await trafficOf(served), await platform.revisionBehind()], [100, served])
  await settings({}, ["source_config.canary_weight"])
  await untilNothingIsLeft(platform)
  await platform.kill()
})

// The first revision of a deployment, which is deleted as soon as the platform is back. After each of these points something
// else is there that has no row, or a row of something that is not there: a database, a tree, a file, a process, a route.
const deletedAfter = [
  "queue:after-database",
  "build:after-publish",
  "fetch:after-tree",
  "deploy:after-unit-row",
  "unit:after-spawn",
  "table:after-row",
  "verify:after-advance",
]
for (const [index, point] of deletedAfter.entries()) {
  const skip = index > 1 && unlessLong("the first two are those with a file or a database and no row")
  test(`a deployment that is deleted after a kill at ${point} leaves nothing at all`, { skip }, async () => {
    const doomed = await deployAndDieAt(point, `doomed-${index}`)

    await platform.call("DELETE", `/v2/deployments/${doomed}`)

    await untilGone(doomed)
    await untilNothingIsLeft(platform)
    await platform.kill()
  })
}

/** @returns  the id of a new deployment, after a kill at this point; the platform is back */
async function deployAndDieAt(point: string, name: string): Promise<string> {
  const headers = { "content-type": "application/json", "idempotency-key": `create-${name}` }
  const body = JSON.stringify(deploymentOf(platform.repository.url, { name }))
  const created = async () => {
    await platform.start({ SUPERSTEP_CRASH_AT: point })
    const reply = await platform.fetch("/v2/deployments", { method: "POST", headers, body }).catch(unlessBrokenOff)
    const { id } = reply ? ((await reply.json()) as { id: string }) : { id: "" }
    await platform.untilDead()
    return id
  }
  // A start may come to the point before it replies: what was to be published at the last kill is published then.
  const id = (await created()) || (await created())
  await platform.start()
  return id
}

function unlessBrokenOff(error: unknown): undefined {
  if (
    error instanceof TypeError &&
    /^(UND_ERR_SOCKET|ECONNRE\w+)$/.test(String((error.cause as { code?: string })?.code))
  )
    return
  throw error
}

const untilGone = (id: string) =>
  until(async () => (await platform.call("GET", `/v2/deployments/${id}`)).status === 404, {
    what: "the deployment is gone",
  })

test("killed at each step of a deletion, it goes on after each restart, and leaves nothing at all", async () => {
  await platform.start()
  const { deploymentId: doomed, revisionId } = await platform.deploy(
    deploymentOf(platform.repository.url, { name: "doomed" }),
  )
  await platform.untilEnded(doomed, revisionId)
  await platform.kill()

  await dieAt(["delete:after-route", "delete:after-units", "delete:after-database", "delete:after-files"], async () => {
    await platform.call("DELETE", `/v2/deployments/${doomed}`)
  })

  await untilGone(doomed)
  await untilNothingIsLeft(platform)
  await platform.kill()
})

test("a control plane whose port is in use ends, and leaves nothing running", async () => {
  await using idle = await testPlatform()
  const other = createServer().listen(0, "127.0.0.1")
  await once(other, "listening")
  const { port } = other.address() as AddressInfo

  await assert.rejects(idle.start({ SUPERSTEP_PORT: String(port) }), /is in use: choose another with --port/)

  assert.ok(!existsSync(join(idle.home, "edge", "pid.json")))
  other.close()
})
