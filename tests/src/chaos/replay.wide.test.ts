/** What clients of resumable runs saw before their server, or Postgres too, was killed is what they read again, under the same ids. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { skip } from "@superstep/toolkit/testing/processes"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { until } from "@superstep/toolkit/testing/until"
import { runsLongTests } from "@superstep/toolkit/testing/wide-tests"
import type { KillableServer } from "superstep/prove/killable-server"
import { agentDatabase, startAgentServer } from "../testing/agent-servers.js"
import { EventReader, type ReadEvent } from "../testing/event-reader.js"
import { startInstallation } from "./installation.js"

const kills = runsLongTests ? 4 : 2
const runsPerKill = 2
const config = fileURLToPath(new URL("../../soak-graphs/langgraph.json", import.meta.url))

/** Faster than the log, so that something is on its way there at any moment. */
async function startRun(server: KillableServer): Promise<EventReader> {
  const threadId = randomUUID()
  const body = {
    assistant_id: "flood",
    input: { events: 20_000, eventBytes: 1000, atOnce: true },
    stream_mode: ["custom"],
    stream_resumable: true,
    if_not_exists: "create",
  }
  return EventReader.open(server, { path: `/threads/${threadId}/runs/stream`, body })
}

/** The first events of a run's log. */
async function replay(server: KillableServer, location: string, count: number): Promise<readonly ReadEvent[]> {
  const reader = await EventReader.open(server, { path: `${location}/stream`, lastEventId: -1 })
  await until(() => reader.events.length >= count, { what: `${count} events are there again`, timeoutMs: 60_000 })
  reader.leave()
  return reader.events
}

test("what was seen before a kill is a prefix of the replay, with the same ids", { skip }, async (t) => {
  const seed = Date.now() % 1_000_000
  const random = seededRandom(seed)
  t.diagnostic(`seed ${seed}`)
  const env = { SUPERSTEP_CONFIG: config, SUPERSTEP_WORKERS: "1" }
  await using installation = await startInstallation({ servers: 1, env })
  const { postgres, untilWhole, servers } = installation
  const [server] = servers
  assert.ok(server)

  for (let kill = 0; kill < kills; kill++) {
    const killed = kill % 2 === 0 ? "everything" : "the server"
    const readers: readonly EventReader[] = await Promise.all(
      Array.from({ length: runsPerKill }, () => startRun(server)),
    )
    const haveBegun = () => readers.every(({ events }) => events.length > 50)
    await until(haveBegun, { what: "every run has sent something" })
    await sleep(random.between(0, 100))
    await Promise.all([server.kill(), ...(killed === "everything" ? [postgres.kill()] : [])])
    await Promise.all(readers.map(({ over }) => over))
    const seen = readers.map(({ events }) => [...events])
    await untilWhole()

    for (const [index, { location }] of readers.entries()) {
      const before = seen[index] ?? []
      const again = await replay(server, location, before.length)
      const differs = before.findIndex(({ id, data }, n) => again[n]?.id !== id || again[n]?.data !== data)
      assert.equal(differs, -1, `${killed} was killed: of ${before.length} events, number ${differs} is not the same`)
    }
  }
})

test("the official SDK that comes back to a plain run after a kill is told that it missed events", async () => {
  await using db = await agentDatabase()
  const env = { SUPERSTEP_LEASE_SECONDS: "2" }
  await using killed = await startAgentServer({ databaseUri: db.uri, env })
  const { thread_id } = await killed.client.threads.create()
  const body = { assistant_id: "steps", input: { steps: 20, everyMs: 50 }, stream_mode: ["custom"] }
  const reader = await EventReader.open(killed, { path: `/threads/${thread_id}/runs/stream`, body })
  await until(() => reader.events.length > 3, { what: "the run has begun" })
  const lastEventId = String(reader.lastId)
  const runId = JSON.parse(reader.events[0]?.data ?? "{}").run_id

  await killed.kill()
  await using server = await startAgentServer({ databaseUri: db.uri, env })
  const events: unknown[] = []
  for await (const { event, data } of server.client.runs.joinStream(thread_id, runId, { lastEventId })) {
    events.push({ event, data })
  }

  assert.deepEqual(events.slice(0, 2), [
    { event: "metadata", data: { run_id: runId, attempt: 2, missed: true } },
    { event: "metadata", data: { run_id: runId, attempt: 2 } },
  ])
  assert.deepEqual(events.at(-1), { event: "end", data: { run_id: runId, status: "success" } })
})
