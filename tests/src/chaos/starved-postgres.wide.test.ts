/** Postgres cannot work: its disk is full, or another program's transaction holds what everybody needs. */
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { identifier, sql } from "@superstep/toolkit/db/sql"
import { skip } from "@superstep/toolkit/testing/processes"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { runsLongTests } from "@superstep/toolkit/testing/wide-tests"
import { ConversationClient } from "./client.js"
import { bodyOf, conversationOf } from "./conversation.js"
import { factsOf, readEffects } from "./facts.js"
import { type Installation, startInstallation } from "./installation.js"
import { holdLock, untilExecuting } from "./moments.js"
import { judge } from "./verdict.js"

const leaseSeconds = 3
const env = { SUPERSTEP_LEASE_SECONDS: `${leaseSeconds}`, SUPERSTEP_STATEMENT_TIMEOUT_SECONDS: "2" }

async function beginAll({
  servers,
  effectsFile,
}: Installation): Promise<{ clients: ConversationClient[]; ended: () => Promise<unknown> }> {
  const conversations = [
    conversationOf({ name: "sync", steps: 30 }),
    conversationOf({ name: "async", steps: 30, durability: "async" }),
    conversationOf({ name: "exit", steps: 30, durability: "exit" }),
    conversationOf({ name: "queued", steps: 10, turns: 2, isStreamed: false }),
    conversationOf({ name: "fan", graph: "fan", stepMs: 100 }),
  ]
  const clients = conversations.map((one) => new ConversationClient(one, servers, seededRandom(1)))
  const begun = await Promise.all(clients.map((client) => client.begin()))
  await untilExecuting({ effectsFile }, ({ step }) => step === 3)
  return { clients, ended: () => Promise.all(begun.map(({ ended }) => ended)) }
}

/** Tries to create a run at each server, and expects to be told to come back. */
async function untilRefused({ servers }: Installation): Promise<void> {
  for (const { url } of servers) {
    const body = JSON.stringify({ ...bodyOf(conversationOf({ name: "refused" }), 0), if_not_exists: "create" })
    const create = () =>
      fetch(`${url}/threads/${crypto.randomUUID()}/runs`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      })
    const reply = await until(
      async () => {
        const response = await create()
        assert.ok([200, 503].includes(response.status), `${response.status}: ${await response.clone().text()}`)
        return response.status === 503 && response
      },
      { what: "a request is refused", timeoutMs: 60_000 },
    )
    assert.match(reply.headers.get("retry-after") ?? "", /^\d+$/)
    assert.equal((await fetch(`${url}/ok`)).status, 200)
  }
}

async function judgeAll({ db, effectsFile }: Installation, clients: readonly ConversationClient[]): Promise<number[]> {
  const attempts: number[] = []
  for (const client of clients) {
    const facts = await until(
      async () => {
        const it = await factsOf(db, readEffects(effectsFile), client.threadId)
        return it.runs.every(({ status }) => status === "success") && it
      },
      // Nobody waits for the runs that have no client.
      { what: `the runs of "${client.conversation.name}" have ended in success`, timeoutMs: 60_000 },
    )
    assert.deepEqual(judge(client.conversation, facts, client), [])
    attempts.push(...facts.runs.map(({ attempt }) => attempt))
  }
  return attempts
}

// More than two leases; in the long tests two minutes.
const heldMs = runsLongTests ? 120_000 : 8_000

const tables = runsLongTests ? (["runs", "threads", "checkpoints"] as const) : (["runs"] as const)

for (const table of tables)
  test(`while another transaction holds the table ${table}, requests get 503, and afterwards everything goes on`, {
    skip,
  }, async () => {
    await using installation = await startInstallation({ env })
    const { clients, ended } = await beginAll(installation)

    await using lock = await holdLock(installation.db, sql`lock table ${identifier(table)} in access exclusive mode`)
    if (table !== "checkpoints") await untilRefused(installation)
    await sleep(heldMs)
    await lock.release()
    await ended()

    const attempts = await judgeAll(installation, clients)
    assert.deepEqual([...new Set(attempts)], [1], "a run was attempted again")
    assert.ok(installation.servers.every(({ isRunning }) => isRunning))
  })

const isRoot = process.getuid?.() === 0

test("while the disk of Postgres is full, requests get 503, and with space again everything goes on", {
  skip: skip || (!isRoot && "needs root, to mount a small disk"),
}, async () => {
  const disk = join(temporaryFolder(), "disk")
  mkdirSync(disk)
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=192m,mode=755", "superstep-test", disk])
  try {
    await using installation = await startInstallation({ env, postgresFolder: join(disk, "postgres") })
    const { postgres } = installation
    const { clients, ended } = await beginAll(installation)

    const ballast = join(disk, "ballast")
    fill(disk, ballast)
    await untilRefused(installation)
    rmSync(ballast)
    // Without space for its log Postgres gives up, and needs to be started again, as its supervisor would.
    await postgres.kill()
    await postgres.start()
    await ended()

    await judgeAll(installation, clients)
    assert.ok(installation.servers.every(({ isRunning }) => isRunning))
  } finally {
    execFileSync("umount", ["-l", disk])
  }
})

function fill(disk: string, file: string): void {
  const { bavail, bsize } = statfsSync(disk)
  try {
    writeFileSync(file, Buffer.alloc(bavail * bsize))
  } catch (error) {
    // Postgres took the last blocks meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error
  }
}
