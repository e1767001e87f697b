/** Sleep, pause and restart, with real processes: control plane, edge, fake units. */
import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { connect } from "node:net"
import { basename, dirname, join } from "node:path"
import { test } from "node:test"
import { machineFolders, unitSocket } from "@superstep/machines/parts/files/folders"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { platformWithRepository } from "../pipeline/testing/platform-with-repository.js"
import { wakePipeline } from "../revisions/wake-up.js"
import { shared } from "../testing/api.js"

const settings = { SUPERSTEP_IDLE_MINUTES: "0.01" }
const platform = shared(() => platformWithRepository(settings))

const deploy = async (name: string, type: string, secrets: Record<string, string> = {}) => {
  const { deploymentId } = await platform.serveRepository({ name, config: { deployment_type: type }, secrets })
  return deploymentId
}
const pidFile = async (deploymentId: string) => {
  const row = await platform.db.row<{ unit_id: string }>(sql`
    select unit_id from units join revisions using (revision_id) where units.deployment_id = ${deploymentId} and role = 'serving'`)
  return join(platform.home, "units", row?.unit_id ?? "none", "pid.json")
}
const isAsleep = async (deploymentId: string) => {
  const rows = await platform.db.rows(sql`
    select from sleeps where deployment_id = ${deploymentId} and not is_waking`)
  return rows.length === 1
}
const sleeps = async (deploymentId: string) =>
  (await isAsleep(deploymentId)) && !existsSync(await pidFile(deploymentId))
const untilAsleep = (deploymentId: string) => until(() => sleeps(deploymentId), { what: "it sleeps" })
const ask = (name: string, path = "/env") =>
  fetch(`${platform.agentsUrl}/d/${name}${path}`, { headers: { "x-api-key": platform.apiKey } })
const change = async (deploymentId: string, statement: ReturnType<typeof sql>) => {
  await platform.db.run(sql`update deployments set ${statement} where deployment_id = ${deploymentId}`)
  await wakePipeline(platform.db, deploymentId)
}

test("a deployment that nobody uses sleeps, and the first requests wake it", async () => {
  const deploymentId = await deploy("sleepy", "dev_free")
  await untilAsleep(deploymentId)

  assert.equal((await ask("sleepy", "/ok")).status, 200)
  assert.equal(await sleeps(deploymentId), true)
  const replies = await Promise.all(Array.from({ length: 5 }, () => ask("sleepy")))

  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
  await untilAsleep(deploymentId)
})

test("what is due wakes a deployment before its time", { skip: unlessWide("waits for seconds") }, async () => {
  // Its unit always says that something is due in 22 s: it sleeps for two of them.
  const deploymentId = await deploy("punctual", "dev_free_zero", { FAKE_DUE_MS: "22000" })
  await untilAsleep(deploymentId)

  await until(async () => existsSync(await pidFile(deploymentId)), { what: "it is awake without a request" })
})

test("a paused deployment has no process and says so; it is deployed to and resumed", async () => {
  const deploymentId = await deploy("paused", "dev")
  await change(deploymentId, sql`desired_run_state = 'paused'`)
  await until(async () => !existsSync(await pidFile(deploymentId)), { what: "its unit has ended" })

  const refused = await ask("paused")
  assert.deepEqual([refused.status, ((await refused.json()) as { code: string }).code], [503, "paused"])
  const { body } = await platform.call("PATCH", `/v2/deployments/${deploymentId}`, {
    secrets: [{ name: "NEXT", value: "2" }],
  })
  assert.equal((await platform.untilEnded(deploymentId, body.latest_revision_id)).status, "DEPLOYED")

  await change(deploymentId, sql`desired_run_state = 'running'`)
  const reply = await until(
    async () => {
      const answer = await ask("paused")
      return answer.status === 200 && ((await answer.json()) as { agent: Record<string, string> })
    },
    { what: "it answers again" },
  )
  assert.equal(reply.agent.NEXT, "2")
})

test("a restart replaces the process and costs no request", async () => {
  const deploymentId = await deploy("restarted", "dev")
  const file = await pidFile(deploymentId)
  const pid = () => (existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as { pid: number }).pid : undefined)
  const before = pid()
  const statuses = new Set<number>()

  await change(deploymentId, sql`restart_generation = restart_generation + 1`)
  await until(
    async () => {
      for (const reply of await Promise.all([ask("restarted"), ask("restarted")])) statuses.add(reply.status)
      return pid() !== undefined && pid() !== before
    },
    { what: "another process answers" },
  )

  assert.equal((await ask("restarted")).status, 200)
  assert.deepEqual([...statuses], [200])
})

test("a control plane that is stopped waits for no agent server that takes long to end", {
  skip: unlessWide("starts the platform again"),
}, async () => {
  const deploymentId = await deploy("slow", "dev")
  const file = await pidFile(deploymentId)
  const { pid } = JSON.parse(readFileSync(file, "utf8")) as { pid: number }
  await platform.kill()
  const stopped = await platform.start({ ...settings, SUPERSTEP_STOP_GRACE: "600" })
  // Half a request, which the fake unit awaits before it ends.
  const socket = connect(unitSocket(machineFolders(platform.home), basename(dirname(file))))
  socket.on("error", () => undefined).write("GET /ok HTTP/1.1\r\n")
  const output = join(dirname(file), "out.log")
  const endings = () => readFileSync(output, "utf8").split("unit stops").length

  const before = endings()
  await change(deploymentId, sql`desired_run_state = 'paused'`)
  await until(() => endings() > before, { what: "the planner has begun to stop it" })
  stopped.kill("SIGTERM")
  await until(() => stopped.exitCode !== null, { what: "the control plane has ended" })

  assert.equal(stopped.exitCode, 0)
  assert.doesNotThrow(() => process.kill(pid, 0), "its agent server has not ended")
  process.kill(pid, "SIGKILL")
  socket.destroy()
})
