/** From a repository to a public address and back, with real processes (control plane, edge, builds, fake units). */
import assert from "node:assert/strict"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { buildFiles } from "@superstep/builder/build-request"
import { sql } from "@superstep/toolkit/db/sql"
import { identify } from "@superstep/toolkit/exec/process-identity"
import { writeJson } from "@superstep/toolkit/files/json-file"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { interruptRevision } from "../revisions/claims.js"
import { wakePipeline } from "../revisions/wake-up.js"
import { shared } from "../testing/api.js"
import { deploymentOf, smallProject } from "./testing/platform.js"
import { platformWithRepository } from "./testing/platform-with-repository.js"

const platform = shared(() => platformWithRepository())

const patch = async (deploymentId: string, body: object) => {
  const { body: deployment } = await platform.call("PATCH", `/v2/deployments/${deploymentId}`, body)
  return { revisionId: deployment.latest_revision_id as string }
}
const again = { source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" } }
const revisionBehind = async (name: string) => {
  const reply = await fetch(`${platform.agentsUrl}/d/${name}/ok`)
  return reply.headers.get("x-revision-id")
}

test("a repository becomes an agent, which cannot use up the database's connections, and a new commit takes its place, which is built once", async () => {
  const sha = platform.repository.git("rev-parse", "main")
  const { deploymentId, revisionId, revision } = await platform.deployRepository({
    name: "first",
    secrets: { MODEL_KEY: "very-secret" },
  })

  assert.equal(revision.status, "DEPLOYED", JSON.stringify(revision))
  assert.equal(revision.commit.sha, sha)
  assert.equal(await revisionBehind("first"), revisionId)
  const env = await fetch(`${platform.agentsUrl}/d/first/env`, { headers: { "x-api-key": platform.apiKey } })
  const unit = (await env.json()) as { agent: Record<string, string>; own: string[]; uid: number }
  assert.equal(unit.agent.MODEL_KEY, "very-secret")
  assert.ok(!unit.own.includes("MODEL_KEY"))
  if (process.getuid?.() === 0) assert.notEqual(unit.uid, 0)
  const role = await platform.db.row(sql`
    select rolconnlimit from pg_roles where rolname = ${`superstep_${deploymentId.replaceAll("-", "")}`}`)
  assert.deepEqual(role, { rolconnlimit: 16 })

  platform.repository.commit({ ...smallProject, "new.txt": "x" })
  const second = await patch(deploymentId, again)
  await platform.untilEnded(deploymentId, second.revisionId)

  assert.equal(await revisionBehind("first"), second.revisionId)
  const { body: deployment } = await platform.call("GET", `/v2/deployments/${deploymentId}`)
  assert.equal(deployment.active_revision_id, second.revisionId)
  assert.equal(deployment.status, "READY")
  await until(async () => (await unitsOf(deploymentId)).length === 1, { what: "the old unit has ended" })

  assert.match(await platform.buildLog(deploymentId, second.revisionId), /build finished/)
  const third = await patch(deploymentId, again)
  assert.equal((await platform.untilEnded(deploymentId, third.revisionId)).status, "DEPLOYED")
  const log = await platform.buildLog(deploymentId, third.revisionId)
  assert.match(log, /was built before/)
  assert.doesNotMatch(log, /verify/)
})

const unitsOf = (deploymentId: string) =>
  platform.db.rows<{ unit_id: string; role: string; revision_id: string }>(sql`
    select unit_id, role, revision_id from units join revisions using (revision_id) where units.deployment_id = ${deploymentId}`)

test("a key is valid at an agent from the reply to its creation until the reply to its revocation", async () => {
  const send = async (key: string) => {
    const reply = await fetch(`${platform.agentsUrl}/d/first/env`, { headers: { "x-api-key": key } })
    await reply.text()
    return reply.status
  }

  for (let round = 0; round < 5; round++) {
    const { body } = await platform.call("POST", "/v2/api-keys", { name: `round ${round}`, scopes: ["run"] })
    assert.equal(await send(body.key), 200)
    await platform.call("DELETE", `/v2/api-keys/${body.id}`)
    assert.equal(await send(body.key), 401)
  }
})

const isBrokenOff = (error: unknown): boolean =>
  error instanceof TypeError && /^(UND_ERR_SOCKET|ECONNRESET)$/.test(String((error.cause as { code?: string })?.code))

// Long enough to be used once on a busy machine.
const keyLivesMs = 8000
test("a key that expires is refused soon after", { skip: unlessWide("waits for seconds") }, async () => {
  const expires_at = new Date(Date.now() + keyLivesMs).toISOString()
  const { body } = await platform.call("POST", "/v2/api-keys", { name: "short", scopes: ["run"], expires_at })
  const send = async () => {
    const reply = await fetch(`${platform.agentsUrl}/d/first/env`, { headers: { "x-api-key": body.key } })
    await reply.text()
    return reply.status
  }
  // E9: a request that is under way when its key expires is broken off.
  const isRefused = async () => {
    try {
      return (await send()) === 401
    } catch (error) {
      if (!isBrokenOff(error)) throw error
      return false
    }
  }

  assert.equal(await send(), 200)

  // Nothing notifies the platform; a pass of its own, which comes every half minute, would be too late.
  await until(isRefused, { what: "the key has expired at the edge", timeoutMs: 20_000 })
})

const failing: readonly (readonly [what: string, at: Record<string, string>, code: string, words: RegExp])[] = [
  ["a graph that ends the unit", { FAKE_EXIT_AT: "start" }, "crash_loop", /3 times[\s\S]*told to end/],
  ["no database", { FAKE_EXIT_AT: "no-base" }, "db_unreachable", /3 times[\s\S]*DATABASE_URI[\s\S]*cannot be reached/],
  [
    "a graph that does not load",
    { FAKE_FAILED: "no such model" },
    "graph_load_failed",
    /"chat" does not load: \[secret\]/,
  ],
]

test("whatever fails says why, and the route stays on the last good revision", async () => {
  await platform.kill()
  await platform.start({ SUPERSTEP_MAX_BUILDS: "4" })
  const all = failing.map(async ([what, secrets, code, words], index) => {
    const { revision, deploymentId } = await platform.deployRepository({ name: `failing-${index}`, secrets })
    assert.deepEqual(
      [revision.status, revision.error_code],
      ["DEPLOY_FAILED", code],
      `${what}: ${JSON.stringify(revision)}`,
    )
    assert.match(revision.status_message, words)
    await until(async () => (await unitsOf(deploymentId)).length === 0, { what: "its unit has ended" })
  })
  await Promise.all(all)

  const { revision: lost } = await platform.deployRepository({ name: "no-branch", ref: "nope" })
  assert.deepEqual([lost.status, lost.error_code], ["BUILD_FAILED", "ref_not_found"])
  assert.match(lost.status_message, /no branch, tag or commit "nope"/)
  const { deploymentId, revisionId } = await platform.deployRepository({ name: "good" })
  const bad = await patch(deploymentId, { secrets: [{ name: "FAKE_FAILED", value: "broken" }] })
  const revision = await platform.untilEnded(deploymentId, bad.revisionId)

  assert.equal(revision.status, "DEPLOY_FAILED")
  assert.equal(await revisionBehind("good"), revisionId)
})

test("a source that this installation cannot run is stored, and says why it is not run", async () => {
  const template = { source_config: { template_id: "chat" }, source_revision_config: {} }
  const body = { name: "template", source: "internal_template", secrets: [], ...template }
  const { deploymentId, revisionId } = await platform.deploy(body)

  const revision = await platform.untilEnded(deploymentId, revisionId)

  assert.equal(revision.error_code, "source_unsupported", JSON.stringify(revision))
  assert.match(revision.status_message, /no templates/)
})

test("a unit that never gets ready fails when its time is over", { skip: unlessWide("takes 10 s") }, async () => {
  await platform.kill()
  await platform.start({ SUPERSTEP_TIMEOUT_HEALTH: "2" })

  const { revision, deploymentId } = await platform.deployRepository({
    name: "never-ready",
    secrets: { FAKE_NEVER_READY: "1" },
  })

  assert.deepEqual([revision.status, revision.error_code], ["DEPLOY_FAILED", "health_timeout"])
  // Which of the two depends on the machine's speed.
  assert.match(revision.status_message, /(was not ready after|did not answer for) 2 s/)
  await until(async () => (await unitsOf(deploymentId)).length === 0, { what: "its unit has ended" })
  await platform.kill()
  await platform.start()
})

test("an old unit that is busy goes on until it is idle, and gets no new request meanwhile", async () => {
  const busyFile = join(temporaryFolder(), "busy")
  writeFileSync(busyFile, "")
  const { deploymentId, revisionId } = await platform.deployRepository({
    name: "busy",
    secrets: { FAKE_BUSY: busyFile },
  })

  const { revisionId: next } = await patch(deploymentId, { secrets: [{ name: "OTHER_VALUE", value: "1" }] })
  await platform.untilEnded(deploymentId, next)

  assert.equal(await revisionBehind("busy"), next)
  const old = (await unitsOf(deploymentId)).find((unit) => unit.revision_id === revisionId)
  assert.ok(old, "it has not ended")
  rmSync(busyFile)
  await until(async () => (await unitsOf(deploymentId)).length === 1, { what: "the old unit has ended" })
})

test("a deployment that is deleted while it is built leaves neither a build nor an artifact", async () => {
  const { deploymentId, revisionId } = await platform.deploy(
    deploymentOf(platform.repository.url, { name: "hasty", config: { build_command: "sleep 300" } }),
  )
  const { step } = buildFiles(join(platform.home, "work", revisionId, "build"))
  await until(() => existsSync(step), { what: "the build runs" })
  const { pid } = JSON.parse(readFileSync(step, "utf8")) as { pid: number }

  await platform.call("DELETE", `/v2/deployments/${deploymentId}`)
  const gone = async () => (await platform.call("GET", `/v2/deployments/${deploymentId}`)).status === 404
  await until(gone, { what: "the deployment is gone" })

  assert.equal(await identify(pid), undefined)
})

test("a build that failed through no fault of the project is built anew", {
  skip: unlessWide("builds twice"),
}, async () => {
  const { deploymentId, revisionId } = await platform.deploy(
    deploymentOf(platform.repository.url, { name: "unlucky", config: { build_command: "sleep 300" } }),
  )
  const files = buildFiles(join(platform.home, "work", revisionId, "build"))
  await until(() => existsSync(files.step), { what: "the build runs" })
  const pidIn = (file: string) => (JSON.parse(readFileSync(file, "utf8")) as { pid: number }).pid
  const first = pidIn(files.identity)
  const step = pidIn(files.step)

  await writeJson(files.result, { outcome: "failed", error_code: "internal", message: "the disk is full" })
  for (const pid of [first, step]) process.kill(-pid, "SIGKILL")

  await until(() => existsSync(files.identity) && pidIn(files.identity) !== first, { what: "another build runs" })
  await platform.db.transaction(async (tx) => {
    assert.ok(await interruptRevision(tx, revisionId))
    await wakePipeline(tx, deploymentId)
  })
})
