/** What a start of the platform makes of units whose processes are gone. With real processes: control plane, edge, fake units. */
import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { identify } from "@superstep/toolkit/exec/process-identity"
import { until } from "@superstep/toolkit/testing/until"
import { platformWithRepository } from "../pipeline/testing/platform-with-repository.js"
import { shared } from "../testing/api.js"

const platform = shared(() => platformWithRepository())

const unitOf = async (deploymentId: string) => {
  const unit = await platform.db.row<{ unit_id: string; crashes: number; is_down: boolean }>(sql`
    select unit_id, crashes, is_down from units where deployment_id = ${deploymentId}`)
  assert.ok(unit)
  return unit
}
/** A process answers a moment before its pid is on disk. */
const pidIn = (...folder: string[]) =>
  until(
    async () => {
      const file = join(platform.home, ...folder, "pid.json")
      const { pid } = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as { pid: number }) : {}
      return pid !== undefined && (await identify(pid)) !== undefined && pid
    },
    { what: `the process of ${folder.join("/")} is known` },
  )
const kill = async (pid: number) => {
  process.kill(pid, "SIGKILL")
  await until(async () => (await identify(pid)) === undefined, { what: "the process has ended" })
}
const untilAnswers = (name: string) =>
  until(
    async () => {
      const reply = await fetch(`${platform.agentsUrl}/d/${name}/ok`).catch(() => undefined)
      await reply?.text()
      return reply?.status === 200
    },
    { what: `${name} answers` },
  )
const healthOf = async (deploymentId: string) => {
  const { body: deployment } = await platform.call("GET", `/v2/deployments/${deploymentId}`)
  const { body: list } = await platform.call("GET", `/v2/deployments?deployment_ids=${deploymentId}`)
  const path = `/v2/deployments/${deploymentId}/revisions/${deployment.active_revision_id}`
  const { body: revision } = await platform.call("GET", path)
  return [deployment.health, list.resources[0].health, revision.health]
}
const crashLoopsOf = (deploymentId: string) =>
  platform.db.rows(sql`select from events where deployment_id = ${deploymentId} and type = 'unit.crash_loop'`)

test("a unit that died with the whole platform did not crash, however often that happens", async () => {
  const { deploymentId } = await platform.serveRepository({ name: "unlucky" })
  const { unit_id } = await unitOf(deploymentId)

  for (let death = 1; death <= 3; death++) {
    const [edge, unit] = [await pidIn("edge"), await pidIn("units", unit_id)]
    await platform.kill()
    await kill(edge)
    await kill(unit)
    await platform.start()
    await untilAnswers("unlucky")
  }

  assert.equal((await unitOf(deploymentId)).crashes, 0)
  assert.deepEqual(await crashLoopsOf(deploymentId), [])
})

test("a unit that ends by itself while the control plane is away crashed, and is seen to crash again and again", async () => {
  const { deploymentId } = await platform.serveRepository({ name: "fragile" })
  const { unit_id } = await unitOf(deploymentId)

  for (let end = 1; end <= 2; end++) {
    const unit = await pidIn("units", unit_id)
    await platform.kill()
    await kill(unit)
    await platform.start()
    await untilAnswers("fragile")
  }

  assert.equal((await unitOf(deploymentId)).crashes, 2)
  assert.equal((await crashLoopsOf(deploymentId)).length, 1)
})

test("a start of the platform waits for no back-off", async () => {
  const { deploymentId } = await platform.serveRepository({ name: "delayed" })
  const { unit_id } = await unitOf(deploymentId)
  const unit = await pidIn("units", unit_id)
  await platform.kill()
  await kill(unit)
  await platform.db.run(sql`
    update units set crashes = 7, is_down = true, start_after = now() + interval '1 hour' where unit_id = ${unit_id}`)

  await platform.start()
  await untilAnswers("delayed")

  assert.equal((await unitOf(deploymentId)).crashes, 7, "its next end is the eighth in a row")
})

test("health says that callers get 503, and a restart that somebody asks for waits for no back-off", async () => {
  const { deploymentId } = await platform.serveRepository({ name: "awaited" })
  const { unit_id } = await unitOf(deploymentId)
  // A look that is under way counts from what it has read before: then once more.
  do {
    await untilAnswers("awaited")
    await platform.db.run(sql`update units set crashes = 6 where unit_id = ${unit_id}`)
    await kill(await pidIn("units", unit_id))
    await until(async () => (await unitOf(deploymentId)).crashes !== 6, { what: "its end is noticed" })
  } while ((await unitOf(deploymentId)).crashes !== 7)

  const refused = await fetch(`${platform.agentsUrl}/d/awaited/ok`)
  const down = await healthOf(deploymentId)
  const { status, body } = await platform.call("POST", `/v2/deployments/${deploymentId}/restart`)
  await untilAnswers("awaited")
  await until(async () => (await healthOf(deploymentId))[0] === "healthy", { what: "health says so" })

  assert.deepEqual([refused.status, down], [503, ["down", "down", "down"]])
  assert.deepEqual([status, body.is_restarting], [200, true])
  assert.deepEqual(await healthOf(deploymentId), ["healthy", "healthy", "healthy"])
  assert.equal((await unitOf(deploymentId)).crashes, 0)
})
