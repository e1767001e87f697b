/** A whole platform whose edge runs in two copies: deployments, kills of edges and of the control plane, sleep. */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import type { Address } from "@superstep/protocol/http/address"
import { sql } from "@superstep/toolkit/db/sql"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { until } from "@superstep/toolkit/testing/until"
import { type PlatformWithRepository, platformWithRepository } from "../../pipeline/testing/platform-with-repository.js"
import { type TcpEdge, tcpEdge } from "./testing/tcp-edge.js"

const file = fileURLToPath(import.meta.resolve("@superstep/control/machines/edges/testing/platform-main"))

let one: TcpEdge
let two: TcpEdge
let platform: PlatformWithRepository
let deploymentId: string
let revisionId: string

before(async () => {
  const wakePort = await freePort()
  const wakeAddress: Address = `http://127.0.0.1:${wakePort}`
  one = await tcpEdge(wakeAddress)
  two = await tcpEdge(wakeAddress)
  // Of a second, so that a deployment that may sleep does so at once.
  const env = {
    TEST_EDGES: [one.admin, two.admin].join(","),
    TEST_EDGE_URL: two.url,
    TEST_WAKE_PORT: String(wakePort),
    SUPERSTEP_IDLE_MINUTES: "0.05",
  }
  platform = await platformWithRepository({}, { program: { file, env } })
  const served = await platform.serveRepository({ name: "chat", config: { deployment_type: "prod" } })
  deploymentId = served.deploymentId
  revisionId = served.revisionId
})
after(async () => {
  await platform[Symbol.asyncDispose]()
  await one[Symbol.asyncDispose]()
  await two[Symbol.asyncDispose]()
})

const ask = async (edge: TcpEdge, name = "chat") => {
  const headers = { "x-api-key": platform.apiKey }
  const reply = await fetch(`${edge.url}/d/${name}/env`, { headers, signal: AbortSignal.timeout(60_000) })
  await reply.text()
  return { status: reply.status, revision: reply.headers.get("x-revision-id") }
}
const redeploy = async (value: string): Promise<string> => {
  const secrets = [{ name: "ANY_VALUE", value }]
  const { body } = await platform.call("PATCH", `/v2/deployments/${deploymentId}`, { secrets })
  revisionId = body.latest_revision_id
  return revisionId
}

test("every edge serves a deployment as soon as it is DEPLOYED", async () => {
  const answers = [await ask(one), await ask(two)]

  for (const answer of answers) assert.deepEqual(answer, { status: 200, revision: revisionId })
})

test("a redeploy goes on while an edge is killed, and that edge serves the new revision when it is back", async () => {
  let isOver = false
  const statuses = new Set<number>()
  const callers = Array.from({ length: 3 }, async () => {
    while (!isOver) statuses.add((await ask(two)).status)
  })
  const next = await redeploy("1")
  await one.kill()

  const revision = await platform.untilEnded(deploymentId, next)
  isOver = true
  await Promise.all(callers)
  one.start()
  await until(async () => (await one.found()).isReady, { what: "the edge is ready again" })

  assert.equal(revision.status, "DEPLOYED", JSON.stringify(revision))
  assert.deepEqual([...statuses], [200])
  assert.deepEqual(await ask(one), { status: 200, revision: next })
})

test("edges serve while the control plane is dead, and the next one deploys through both", async () => {
  await platform.kill()
  for (const edge of [one, two]) assert.equal((await ask(edge)).status, 200)
  await platform.start()

  const next = await redeploy("2")
  const revision = await platform.untilEnded(deploymentId, next)

  assert.equal(revision.status, "DEPLOYED", JSON.stringify(revision))
  for (const edge of [one, two]) assert.deepEqual(await ask(edge), { status: 200, revision: next })
})

test("an agent that sleeps is woken through either edge", async () => {
  const { deploymentId: sleeper } = await platform.serveRepository({
    name: "sleeper",
    config: { deployment_type: "dev_free" },
  })
  const sleeps = () => platform.db.row(sql`select from sleeps where deployment_id = ${sleeper} and not is_waking`)
  for (const edge of [one, two]) {
    await until(sleeps, { what: "the deployment sleeps" })
    assert.equal((await ask(edge, "sleeper")).status, 200)
  }
})
