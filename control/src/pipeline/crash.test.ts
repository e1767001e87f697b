/** The control plane is killed at every named point, and every revision ends as if nothing had happened. */
import assert from "node:assert/strict"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { type BareRepository, bareRepository } from "../sources/testing/bare-repository.js"
import { deploymentOf, type Platform, smallProject, testPlatform } from "./testing/platform.js"

let platform: Platform
let repository: BareRepository
let deploymentId: string
let served: string
before(async () => {
  platform = await testPlatform()
  repository = bareRepository(temporaryFolder())
  repository.commit(smallProject)
  await platform.start()
  const first = await platform.deploy(deploymentOf(repository.url))
  deploymentId = first.deploymentId
  served = (await platform.untilEnded(deploymentId, first.revisionId)).id
  await platform.kill()
})
after(() => platform[Symbol.asyncDispose]())

const revisionBehind = async () => (await fetch(`${platform.agentsUrl}/d/chat/ok`)).headers.get("x-revision-id")
const change = async () => {
  repository.commit({ ...smallProject, "n.txt": String(Math.random()) })
  const body = { source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" } }
  return (await platform.call("PATCH", `/v2/deployments/${deploymentId}`, body)).body.latest_revision_id as string
}

// Each revision dies at all points of its row, one after the other; two deaths in one stage are allowed.
const rows = [
  [
    "queue:begin",
    "fetch:after-resolve",
    "build:after-start",
    "deploy:after-unit-row",
    "switch:after-activate",
    "switch:before-push",
    "verify:before-advance",
    "drain:before-advance",
  ],
  ["queue:after-advance", "fetch:after-fetch", "build:after-publish", "deploy:after-start", "switch:after-push"],
  ["build:begin", "build:before-advance", "switch:begin", "switch:after-commit", "drain:begin"],
]
for (const [row, points] of rows.entries()) {
  const skip = row > 0 && unlessWide("the first row has a point of each stage")
  test(`killed at ${points.join(", ")}: it goes on each time, and an agent answers all the while`, {
    skip,
  }, async () => {
    const [first = "", ...others] = points
    await platform.start({ SUPERSTEP_CRASH_AT: first })
    const revisionId = await change()
    for (const point of others) {
      await platform.untilDead()
      assert.ok([served, revisionId].includes((await revisionBehind()) ?? ""))
      await platform.start({ SUPERSTEP_CRASH_AT: point })
    }
    await platform.untilDead()
    await platform.start()
    const revision = await platform.untilEnded(deploymentId, revisionId)

    assert.equal(revision.status, "DEPLOYED", JSON.stringify(revision))
    assert.equal(await revisionBehind(), revisionId)
    served = revisionId
    await until(async () => (await left()).units === 1 && (await left()).work === 0, { what: "only one unit is left" })
    await platform.kill()
  })
}

const left = async () => {
  const row = await platform.db.row<{ units: number; work: number }>(sql`
    select (select count(*) from units) as units, (select count(*) from revisions where stage is not null) as work`)
  return row ?? { units: 0, work: 0 }
}

test("a revision whose stage kills the platform three times fails, and takes no more of them down", async () => {
  await platform.start({ SUPERSTEP_CRASH_AT: "build:begin" })
  const revisionId = await change()
  await platform.untilDead()
  for (let death = 2; death <= 3; death++) {
    await platform.start({ SUPERSTEP_CRASH_AT: "build:begin" })
    await platform.untilDead()
  }

  await platform.start({ SUPERSTEP_CRASH_AT: "build:begin" })
  const revision = await platform.untilEnded(deploymentId, revisionId)

  assert.deepEqual([revision.status, revision.error_code], ["BUILD_FAILED", "crash_loop_guard"])
  assert.equal(await revisionBehind(), served)
  await platform.kill()
})

test("a switch that kills the platform three times fails, and the unit that serves executes runs again", async () => {
  const unit = await platform.db.row<{ unit_id: string }>(sql`select unit_id from units where revision_id = ${served}`)
  const pidFile = join(platform.home, "units", unit?.unit_id ?? "", "pid.json")
  const activations = async () => (await activationsOf(served)).length
  const before = await activations()
  await platform.start({ SUPERSTEP_CRASH_AT: "switch:after-activate" })
  const revisionId = await change()
  await platform.untilDead()
  for (let death = 2; death <= 3; death++) {
    await platform.start({ SUPERSTEP_CRASH_AT: "switch:after-activate" })
    await platform.untilDead()
  }
  // The unit of a test knows nothing of others' activations: it stops being active by being started again.
  process.kill((JSON.parse(readFileSync(pidFile, "utf8")) as { pid: number }).pid, "SIGKILL")

  await platform.start()
  const revision = await platform.untilEnded(deploymentId, revisionId)

  assert.deepEqual([revision.status, revision.error_code], ["DEPLOY_FAILED", "crash_loop_guard"])
  await until(async () => (await activations()) > before, { what: "the old unit is activated" })
  assert.equal(await revisionBehind(), served)
  await platform.kill()
})

test("a revision that fails after its switch gives the route back", async () => {
  await platform.start({ SUPERSTEP_CRASH_AT: "switch:after-push" })
  const revisionId = await change()
  await platform.untilDead()
  for (let death = 2; death <= 3; death++) {
    await platform.start({ SUPERSTEP_CRASH_AT: "switch:after-push" })
    await platform.untilDead()
  }
  assert.equal(await revisionBehind(), revisionId)

  await platform.start()
  const revision = await platform.untilEnded(deploymentId, revisionId)

  assert.equal(revision.status, "DEPLOY_FAILED")
  await until(async () => (await revisionBehind()) === served, { what: "the old revision serves again" })
  const { body: deployment } = await platform.call("GET", `/v2/deployments/${deploymentId}`)
  assert.equal(deployment.active_revision_id, served)
  await until(async () => (await left()).units === 1, { what: "the failed revision's unit has ended" })
  await platform.kill()
})

const activationsOf = (revisionId: string) =>
  platform.db.rows(sql`select 1 from log_lines where revision_id = ${revisionId} and message = 'activated'`)

test("killed at each step of a deletion, it goes on after each restart", async () => {
  await platform.start()
  const { deploymentId: doomed, revisionId } = await platform.deploy(deploymentOf(repository.url, { name: "doomed" }))
  await platform.untilEnded(doomed, revisionId)
  await platform.call("DELETE", `/v2/deployments/${doomed}`)
  await platform.kill()

  for (const point of ["delete:after-route", "delete:after-units", "delete:after-database", "delete:after-files"]) {
    await platform.start({ SUPERSTEP_CRASH_AT: point })
    await platform.untilDead()
  }
  await platform.start()

  const gone = async () => (await platform.call("GET", `/v2/deployments/${doomed}`)).status === 404
  await until(gone, { what: "the deployment is gone" })
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
