/** One run for one `Idempotency-Key`, although the server is killed while it answers (runs of the agent server). */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { runsWideTests } from "@superstep/toolkit/testing/wide-tests"
import { type AgentServerProcess, agentDatabase, startAgentServer } from "./testing/agent-servers.js"

const config = fileURLToPath(new URL("../graphs/quick.json", import.meta.url))
const serverId = randomUUID()
const env = { SUPERSTEP_CONFIG: config, SUPERSTEP_SERVER_ID: serverId }

const input = { n: 3 }
const body = JSON.stringify({ assistant_id: "slow", input, config: { configurable: { tick_ms: 0 } } })

/** Sends a request until it is answered, as a careful client does. */
async function post(server: AgentServerProcess, path: string, key: string) {
  const headers = { ...server.headers, "idempotency-key": key }
  const reply = await fetch(`${server.url}${path}`, { method: "POST", body, headers })
  return { status: reply.status, text: await reply.text() }
}

const runsOf = (db: Database, threadId: string) =>
  db.rows<{ run_id: string; status: string }>(sql`select run_id, status from runs where thread_id = ${threadId}`)

// After how many milliseconds the server is killed: around the moment in which the run is written.
const moments = runsWideTests ? [0, 3, 8, 15] : [3]

test("however early or late the server dies, the request has one run when it is sent again", async () => {
  await using db = await agentDatabase()
  const made: { threadId: string; key: string; path: string }[] = []
  for (const moment of moments) {
    await using server = await startAgentServer({ databaseUri: db.uri, env })
    const { thread_id: threadId } = await server.client.threads.create()
    const requests = ["", "/wait", "/stream"].map((end) => ({
      threadId,
      key: randomUUID(),
      path: `/threads/${threadId}/runs${end}`,
    }))
    made.push(...requests)
    // Nobody hears the reply.
    // The server is killed under them: whether one was answered is what the repetition finds out.
    const unheard = requests.map(({ path, key }) => post(server, path, key).catch(() => undefined))
    await sleep(moment)
    await server.kill()
    await Promise.all(unheard)
  }

  await using server = await startAgentServer({ databaseUri: db.uri, env })
  for (const { path, key } of made) {
    const [one, other] = await Promise.all([post(server, path, key), post(server, path, key)])
    assert.deepEqual([one.status, other.status], [200, 200], `${one.text} ${other.text}`)
    if (path.endsWith("/runs")) assert.equal(one.text, other.text)
    if (path.endsWith("/wait")) assert.deepEqual([JSON.parse(one.text), JSON.parse(other.text)], [{ n: 5 }, { n: 5 }])
  }

  for (const threadId of new Set(made.map((request) => request.threadId))) {
    assert.equal((await runsOf(db, threadId)).length, 3)
  }
})
