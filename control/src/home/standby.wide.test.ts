/** Two control planes of one installation, with kills: one is in charge, the other stands by. */
import assert from "node:assert/strict"
import type { ChildProcess } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { type TcpEdge, tcpEdge } from "@superstep/machines/parts/edges/testing/tcp-edge"
import type { Address } from "@superstep/protocol/http/address"
import { sql } from "@superstep/toolkit/db/sql"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { until } from "@superstep/toolkit/testing/until"
import { type Platform, smallProject, testPlatform } from "../pipeline/testing/platform.js"
import { type PlatformWithRepository, platformWithRepository } from "../pipeline/testing/platform-with-repository.js"

const file = fileURLToPath(import.meta.resolve("@superstep/control/home/testing/standby-main"))

let edge: TcpEdge
let one: PlatformWithRepository
let two: Platform
let deploymentId: string
let inCharge: { platform: Platform; child: ChildProcess }
/** What stands by until its start resolves. */
let next: { platform: Platform; started: Promise<ChildProcess> }

const healthOf = async (platform: Platform) => {
  const reply = await fetch(`${platform.apiUrl}/health`).catch(() => undefined)
  return reply && { status: reply.status, body: (await reply.json()) as { status?: string } }
}
/** Starts the one that does not run. */
const startOther = (env: Record<string, string> = {}) => {
  const platform = inCharge.platform === one ? two : one
  next = { platform, started: platform.start(env) }
}
const standBy = async () => {
  startOther()
  await until(async () => (await healthOf(next.platform))?.body.status === "standby", { what: "it stands by" })
}
const takeOver = async () => {
  inCharge = { platform: next.platform, child: await next.started }
}
/** Other code, so that it passes all stages. @returns  the id of its revision */
const redeploy = async (): Promise<string> => {
  one.repository.commit({ ...smallProject, "n.txt": randomBytes(8).toString("hex") })
  const body = { source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" } }
  const reply = await fetch(`${inCharge.platform.apiUrl}/v2/deployments/${deploymentId}`, {
    method: "PATCH",
    headers: { "x-api-key": one.apiKey, "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  assert.equal(reply.status, 200)
  return ((await reply.json()) as { latest_revision_id: string }).latest_revision_id
}
const untilDeployed = (revisionId: string) =>
  until(
    async () => {
      const row = await one.db.row<{ status: string }>(
        sql`select status from revisions where revision_id = ${revisionId}`,
      )
      return row?.status === "DEPLOYED"
    },
    { what: "the revision is DEPLOYED", timeoutMs: 120_000 },
  )
const served = async () => {
  const reply = await fetch(`${edge.url}/d/chat/env`, { headers: { "x-api-key": one.apiKey } })
  await reply.text()
  return { status: reply.status, revision: reply.headers.get("x-revision-id") }
}

before(async () => {
  const wakePort = await freePort()
  const wakeAddress: Address = `http://127.0.0.1:${wakePort}`
  edge = await tcpEdge(wakeAddress)
  const env = {
    TEST_EDGES: edge.admin,
    TEST_EDGE_URL: edge.url,
    TEST_WAKE_PORT: String(wakePort),
    TEST_SHARED: "1",
    SUPERSTEP_MASTER_KEY: randomBytes(32).toString("base64"),
  }
  one = await platformWithRepository({ SUPERSTEP_CRASH_AT: "" }, { program: { file, env } })
  // On another computer it would have the same port; here a stopped process keeps its own.
  const ofTwo = { ...env, TEST_WAKE_PORT: String(await freePort()) }
  two = await testPlatform({ db: one.db, home: one.home, program: { file, env: ofTwo } })
  ;({ deploymentId } = await one.serveRepository({ name: "chat" }))
  await one.kill()
  inCharge = { platform: one, child: await one.start() }
})
after(async () => {
  await inCharge.platform.kill()
  await one[Symbol.asyncDispose]()
  await edge[Symbol.asyncDispose]()
})

test("what stands by refuses requests, and its health says why", async () => {
  await standBy()
  const health = await healthOf(next.platform)
  const well = await fetch(`${next.platform.apiUrl}/health?standbyok=true`)
  const reply = await fetch(`${next.platform.apiUrl}/v2/deployments`, { headers: { "x-api-key": one.apiKey } })

  assert.deepEqual(health, { status: 503, body: { status: "standby" } })
  assert.equal(well.status, 200)
  assert.equal(reply.status, 503)
  assert.match(await reply.text(), /stands by/)
})

test("after a kill the other deploys what was under way", async () => {
  const revisionId = await redeploy()
  await inCharge.platform.kill()
  await takeOver()

  await untilDeployed(revisionId)

  assert.deepEqual(await served(), { status: 200, revision: revisionId })
})

test("one that was stopped ends when it goes on, and the other's revision stays", async () => {
  await standBy()
  const stopped = inCharge.child
  const revisionId = await redeploy()
  stopped.kill("SIGSTOP")
  await takeOver()
  await untilDeployed(revisionId)
  const ended = once(stopped, "exit")

  stopped.kill("SIGCONT")

  assert.equal((await ended)[0], 1)
  assert.deepEqual(await served(), { status: 200, revision: revisionId })
})
