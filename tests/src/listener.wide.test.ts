/** A listener: a second installation carries out deployments of the first, and only calls out. */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { type CuttableHttp, cuttableHttp } from "./testing/cuttable-http.js"
import {
  type Deployment,
  deploymentOf,
  type Revision,
  startRevision,
  untilDeployed,
  versionOf,
} from "./testing/deployments.js"
import { type LocalPlatform, startLocalPlatform } from "./testing/platform.js"
import { createRepository, type Repository, versionFile } from "./testing/repository.js"

interface Parts {
  readonly central: LocalPlatform
  readonly line: CuttableHttp
  readonly listenerId: string
  readonly repository: Repository
  readonly remote: LocalPlatform
}
let parts: Parts

const created = async <T>(platform: LocalPlatform, path: string, body: object): Promise<T> => {
  const reply = await platform.api<T>("POST", path, body)
  assert.equal(reply.status, 201, JSON.stringify(reply.body))
  return reply.body
}

before(async () => {
  const central = await startLocalPlatform()
  const line = await cuttableHttp(central.credentials.url)
  const { id: listenerId } = await created<{ id: string }>(central, "/v2/listeners", {
    compute_type: "k8s",
    compute_id: "other-network",
    compute_config: { k8s_namespaces: null },
  })
  const { token } = await created<{ token: string }>(central, `/v2/listeners/${listenerId}/tokens`, { name: "another" })
  const env = { SUPERSTEP_LISTENER_URL: line.url, SUPERSTEP_LISTENER_TOKEN: token }
  parts = { central, line, listenerId, repository: await createRepository(), remote: await startLocalPlatform({ env }) }
})
after(async () => {
  await parts.remote[Symbol.asyncDispose]()
  await parts.line[Symbol.asyncDispose]()
  await parts.central[Symbol.asyncDispose]()
})

/** As the official clients deploy, with a listener's id. */
async function deployThere(name: string, secrets: { name: string; value: string }[] = []): Promise<Deployment> {
  const { central, listenerId, repository } = parts
  const request = deploymentOf(name, repository.url)
  const source_config = { ...request.source_config, listener_id: listenerId }
  const made = await created<Deployment>(central, "/v2/deployments", { ...request, source_config, secrets })
  await untilDeployed(central, made.id, made.latest_revision_id)
  return (await central.api<Deployment>("GET", `/v2/deployments/${made.id}`)).body
}

/** The version that answers, asked with the key of the first installation's workspace. */
const answerOf = (deployment: Deployment) => versionOf(parts.central, deployment)

/** What the other installation said of the build, as the first one has it. */
async function buildLogOf(deploymentId: string, revisionId: string): Promise<string[]> {
  const path = `/v1/projects/${deploymentId}/revisions/${revisionId}/build_logs`
  const { status, body } = await parts.central.api<{ logs: { message: string }[] }>("POST", path, { limit: 1000 })
  assert.equal(status, 200, JSON.stringify(body))
  return body.logs.map(({ message }) => message)
}

const statusOf = async (deploymentId: string, revisionId: string): Promise<string> => {
  const path = `/v2/deployments/${deploymentId}/revisions/${revisionId}`
  return (await parts.central.api<Revision>("GET", path)).body.status
}

async function killControlPlane(platform: LocalPlatform): Promise<void> {
  const pid = await until(() => platform.controlPid(), { what: "a control plane runs", timeoutMs: 60_000 })
  process.kill(pid, "SIGKILL")
}

let far: Deployment

test("a deployment of a listener is built, served and rolled back in the other installation, and clients see no difference", async () => {
  const { central, remote, repository, listenerId } = parts
  await repository.push(versionFile("one"))
  far = await deployThere("far", [{ name: "FAR_SECRET", value: "only-for-far" }])
  const first = await answerOf(far)
  await repository.push(versionFile("two"))
  const next = await startRevision(central, far.id)
  await untilDeployed(central, far.id, next)
  const second = await answerOf(far)
  const back = await central.api<Deployment>("POST", `/v2/deployments/${far.id}/rollback`, {})
  await untilDeployed(central, far.id, back.body.latest_revision_id)
  const third = await answerOf(far)

  const path = `/v2/deployments/${far.id}`
  const isHealthy = async () => (await central.api<{ health: string }>("GET", path)).body.health === "healthy"
  await until(isHealthy, { what: "the first installation says that it is healthy", timeoutMs: 30_000 })
  const { body: seen } = await central.api<Deployment & { status: string }>("GET", path)
  const { body: listener } = await central.api<{ last_seen_at: string }>("GET", `/v2/listeners/${listenerId}`)
  const log = await buildLogOf(far.id, next)
  assert.ok(far.source_config.custom_url.startsWith(remote.agentsUrl), far.source_config.custom_url)
  assert.deepEqual([first, second, third], ["one", "two", "one"])
  assert.deepEqual([seen.status, seen.active_revision_id], ["READY", back.body.latest_revision_id])
  assert.ok(listener.last_seen_at)
  assert.ok(
    log.some((line) => line.startsWith("build finished")),
    log.join("\n"),
  )
})

test("while the line is cut agents answer, also after a kill there; what was asked for and said meanwhile follows", async () => {
  const { central, line, repository, remote } = parts
  line.cut()
  await repository.push(versionFile("three"))
  // A build that can be seen before it is over.
  const next = await startRevision(central, far.id, { source_config: { build_command: "sleep 5" } })
  const during = await answerOf(far)
  await killControlPlane(remote)
  const afterKill = await answerOf(far)
  const meanwhile = await statusOf(far.id, next)
  line.heal()
  await until(async () => (await statusOf(far.id, next)) === "BUILDING", {
    what: "the other installation builds it",
    timeoutMs: 120_000,
  })
  line.cut()
  await until(async () => (await answerOf(far)) === "three", {
    what: "the other installation ends the deploy without the first one",
    timeoutMs: 180_000,
  })
  const unseen = await statusOf(far.id, next)
  line.heal()
  await untilDeployed(central, far.id, next)

  const ends = async () => (await buildLogOf(far.id, next)).filter((text) => text.startsWith("build finished"))
  await until(async () => (await ends()).length > 0, { what: "its log is there", timeoutMs: 60_000 })
  assert.deepEqual([during, afterKill], ["one", "one"])
  assert.equal(meanwhile, "CREATING")
  assert.notEqual(unseen, "DEPLOYED")
  assert.equal((await ends()).length, 1, "no line is there twice")
})

test("a deploy ends although both control planes are killed in the middle of it", async () => {
  const { central, remote, repository } = parts
  await repository.push(versionFile("four"))
  const next = await startRevision(central, far.id)
  await until(async () => /BUILD|DEPLOY/.test(await statusOf(far.id, next)), {
    what: "the other installation works on it",
    timeoutMs: 120_000,
  })

  await Promise.all([killControlPlane(remote), killControlPlane(central)])

  await untilDeployed(central, far.id, next)
  assert.equal(await answerOf(far), "four")
})
