/** Two control planes of one installation, with kills: one is in charge, the other stands by. */
import assert from "node:assert/strict"
import type { ChildProcess } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import type { Address } from "@superstep/protocol/http/address"
import { sql } from "@superstep/toolkit/db/sql"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { until } from "@superstep/toolkit/testing/until"
import { type Platform, testPlatform } from "../../pipeline/testing/platform.js"
import { type PlatformWithRepository, platformWithRepository } from "../../pipeline/testing/platform-with-repository.js"
import { type TcpEdge, tcpEdge } from "./testing/tcp-edge.js"

const file = fileURLToPath(import.meta.resolve("@superstep/control/machines/edges/testing/platform-main"))

let edge: TcpEdge
let one: PlatformWithRepository
let two: Platform
let deploymentId: string
/** What is in charge, and what stands by until its start resolves. */
let inCharge: { platform: Platform; child: ChildProcess }
let next: { platform: Platform; started: Promise<ChildProcess> }

const healthOf = async (platform: Platform) => {
  const reply = await fetch(`${platform.apiUrl}/health`).catch(() => undefined)
  return reply && { status: reply.status, body: (await reply.json()) as { status?: string } }
}
const standBy = async (platform: Platform, env: Record<string, string> = {}) => {
  next = { platform, started: platform.start(env) }
  await until(async () => (await healthOf(platform))?.body.status === "standby", { what: "it stands by" })
}
const takeOver = async () => {
  const former = inCharge.platform
  inCharge = { platform: next.platform, child: await next.started }
  return former
}
const redeploy = async (value: string): Promise<string> => {
  const reply = await fetch(`${inCharge.platform.apiUrl}/v2/deployments/${deploymentId}`, {
    method: "PATCH",
    headers: { "x-api-key": one.apiKey, "content-type": "application/json" },
    body: JSON.stringify({ secrets: [{ name: "ANY_VALUE", value }] }),
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
  await standBy(two)
})
after(async () => {
  await inCharge.platform.kill()
  const waiting = await next.started.catch(() => undefined)
  waiting?.kill("SIGKILL")
  await one[Symbol.asyncDispose]()
  await edge[Symbol.asyncDispose]()
})

test("what stands by refuses requests, and its health says why", async () => {
  const health = await healthOf(two)
  const reply = await fetch(`${two.apiUrl}/v2/deployments`, { headers: { "x-api-key": one.apiKey } })

  assert.deepEqual(health, { status: 503, body: { status: "standby" } })
  assert.equal(reply.status, 503)
  assert.match(await reply.text(), /stands by/)
})

test("after a kill the other deploys what was under way", async () => {
  const revisionId = await redeploy("1")
  await inCharge.platform.kill()
  const former = await takeOver()

  await untilDeployed(revisionId)

  assert.deepEqual(await served(), { status: 200, revision: revisionId })
  await standBy(former)
})

test("one that was stopped ends when it goes on, and the other's revision stays", async () => {
  const stopped = inCharge.child
  const revisionId = await redeploy("2")
  stopped.kill("SIGSTOP")
  const former = await takeOver()
  await untilDeployed(revisionId)
  const ended = once(stopped, "exit")

  stopped.kill("SIGCONT")

  assert.equal((await ended)[0], 1)
  assert.deepEqual(await served(), { status: 200, revision: revisionId })
  await standBy(former)
})
