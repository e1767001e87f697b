/** Rollback: automatic when a new unit exits or hangs after it took over, and immediate on request. */
import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { buildFiles } from "@superstep/builder/build-request"
import { sql } from "@superstep/toolkit/db/sql"
import { identify } from "@superstep/toolkit/exec/process-identity"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { shared } from "../testing/api.js"
import { platformWithRepository } from "./testing/platform-with-repository.js"

const platform = shared(() => platformWithRepository({ SUPERSTEP_WATCH: "60", SUPERSTEP_TIMEOUT_HANG: "5" }))

const change = async (deploymentId: string, body: object): Promise<string> => {
  const reply = await platform.call("PATCH", `/v2/deployments/${deploymentId}`, body)
  assert.equal(reply.status, 200, JSON.stringify(reply.body))
  return reply.body.latest_revision_id
}
const secret = (name: string, value: string) => ({ secrets: [{ name, value }] })
const ask = async (name: string, path = "ok") => {
  const headers = { "x-api-key": platform.apiKey }
  const reply = await fetch(`${platform.agentsUrl}/d/${name}/${path}`, { headers, signal: AbortSignal.timeout(20_000) })
  await reply.text()
  return { status: reply.status, revision: reply.headers.get("x-revision-id") }
}
const pidOf = async (revisionId: string): Promise<number> => {
  const unit = await platform.db.row<{ unit_id: string }>(sql`
    select unit_id from units where revision_id = ${revisionId}`)
  const file = join(platform.home, "units", unit?.unit_id ?? "", "pid.json")
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as { pid: number }).pid : 0
}
const revisionOf = async (deploymentId: string, revisionId: string) =>
  (await platform.call("GET", `/v2/deployments/${deploymentId}/revisions/${revisionId}`)).body
const eventsOf = async (revisionId: string) => {
  const rows = await platform.db.rows<{ type: string }>(sql`
    select type from events where revision_id = ${revisionId} and type <> 'revision.status_changed' order by type`)
  return rows.map(({ type }) => type)
}

test("a unit that ends twice after it took over gives way to the one before, and no later request is lost", {
  skip: unlessWide("takes 15 s"),
}, async () => {
  const { deploymentId, revisionId } = await platform.serveRepository({ name: "fragile" })
  const bad = await change(deploymentId, secret("ANY_VALUE", "1"))
  await platform.untilEnded(deploymentId, bad)
  assert.equal((await ask("fragile")).revision, bad)

  const statuses: number[] = []
  for (let end = 1; end <= 2; end++) {
    const pid = await until(() => pidOf(bad), { what: "the new unit runs" })
    await until(async () => (await ask("fragile")).revision === bad, { what: "the new unit answers" })
    process.kill(pid, "SIGKILL")
    await until(async () => (await identify(pid)) === undefined, { what: "it is dead" })
    for (let n = 0; n < 20; n++) statuses.push((await ask("fragile", "env")).status)
    await until(async () => (await pidOf(bad)) !== pid, { what: "its end is noticed" })
  }
  const reason = async () => (await revisionOf(deploymentId, bad)).error_code
  await until(async () => (await reason()) !== null, { what: "the reason is on the revision" })

  assert.deepEqual([...new Set(statuses)], [200])
  const { status, error_code, status_message } = await revisionOf(deploymentId, bad)
  assert.deepEqual([status, error_code], ["DEPLOYED", "crash_loop"])
  assert.match(status_message, new RegExp(`ended 2 times after it was deployed; revision ${revisionId} serves again`))
  assert.deepEqual(await ask("fragile"), { status: 200, revision: revisionId })
  assert.deepEqual(await eventsOf(bad), ["revision.rolled_back", "unit.crash_loop"])
  const { body: deployment } = await platform.call("GET", `/v2/deployments/${deploymentId}`)
  assert.equal(deployment.active_revision_id, revisionId)
})

test("a unit whose workers crash twice gives way to the one before, and log and events say why", async () => {
  const { deploymentId, revisionId } = await platform.serveRepository({ name: "leaky" })
  const bad = await change(deploymentId, secret("FAKE_WORKER_CRASHES", "2"))
  await platform.untilEnded(deploymentId, bad)

  await until(
    async () => (await ask("leaky")).revision === revisionId && (await revisionOf(deploymentId, bad)).error_code,
    {
      what: "the revision before serves again",
    },
  )

  const { error_code, status_message } = await revisionOf(deploymentId, bad)
  assert.equal(error_code, "crash_loop")
  assert.match(status_message, /its worker processes crashed 2 times, the last one with exit code 3; revision/)
  assert.deepEqual(await eventsOf(bad), ["revision.rolled_back", "unit.crash_loop"])
  const logs = await platform.call("POST", `/v1/projects/${deploymentId}/revisions/${bad}/deploy_logs`, { limit: 100 })
  const said = logs.body.logs.map(({ message }: { message: string }) => message)
  assert.ok(
    said.some((line: string) => /^rolled back \(crash_loop\): its worker processes crashed/.test(line)),
    `${said}`,
  )
})

test("a rollback takes the place of a running build, uses the old artifact and leaves nothing of the build", async () => {
  const { deploymentId, revisionId } = await platform.serveRepository({ name: "hurried" })
  const second = await change(deploymentId, secret("ANY_VALUE", "1"))
  await platform.untilEnded(deploymentId, second)
  const building = await change(deploymentId, {
    source_config: { build_command: "sleep 300" },
    source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" },
  })
  const { step } = buildFiles(join(platform.home, "work", building, "build"))
  await until(() => existsSync(step), { what: "the build runs" })
  const { pid } = JSON.parse(readFileSync(step, "utf8")) as { pid: number }

  const reply = await platform.call("POST", `/v2/deployments/${deploymentId}/rollback`, {})
  const rollback = await platform.untilEnded(deploymentId, reply.body.latest_revision_id)

  assert.equal(rollback.status, "DEPLOYED", JSON.stringify(rollback))
  assert.equal((await ask("hurried")).revision, rollback.id)
  const artifact = async (id: string) =>
    (await platform.db.row<{ id: string }>(sql`select artifact_id as id from revisions where revision_id = ${id}`))?.id
  assert.equal(await artifact(rollback.id), await artifact(revisionId))
  const { status, error_code } = await revisionOf(deploymentId, building)
  assert.deepEqual([status, error_code], ["SKIPPED", "superseded"])
  await until(async () => (await identify(pid)) === undefined, { what: "the build's command has ended" })
  await until(() => !existsSync(join(platform.home, "work", building)), { what: "the build's folder is gone" })
})
