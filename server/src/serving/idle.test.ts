import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { removeServer, renewServer } from "../servers/queries.js"
import { freshHttp } from "../testing/test-http.js"
import { occupyPool } from "../testing/test-server.js"
import { everything, openEvents } from "../thread-stream/testing/protocol-client.js"
import { connect } from "../thread-stream/testing/socket-client.js"

const token = { "x-superstep-unit": "sesame" }

async function activeUnit() {
  const http = await freshHttp({ unitToken: "sesame", revisionId: "r1" })
  await http.send("POST", "/internal/activate", undefined, token)
  const get = async (path: string) => (await http.send("GET", path, undefined, token)).json
  const post = async (path: string, body: object) => (await http.send("POST", path, body, token)).json
  const idle = async () => (await get("/internal/idle")) as { is_idle: boolean; next_due_ms: number | null }
  const newThread = async () => ((await post("/threads", {})) as { thread_id: string }).thread_id
  return { ...http, http, get, post, idle, newThread }
}

test("a unit is idle when no run is pending or running, and reports when the next cron or delayed run is due", async () => {
  await using unit = await activeUnit()
  const { post, idle } = unit
  assert.deepEqual(await idle(), { is_idle: true, next_due_ms: null })

  await post("/runs", { assistant_id: "agent", input: {} })
  const run = await until(() => unit.server.workers.started[0], { what: "the run to start" })
  const busy = await idle()
  const counts = await unit.get("/internal/runs")
  run.done()
  await until(async () => (await idle()).is_idle, { what: "the unit is idle again" })

  assert.equal(busy.is_idle, false)
  assert.deepEqual(counts, { pending: 0, running: 1 })
  await post("/runs/crons", { assistant_id: "agent", schedule: "0 0 1 1 *", input: {} })
  const cron = (await idle()).next_due_ms ?? 0
  await post("/runs", { assistant_id: "agent", input: {}, after_seconds: 3600 })
  const delayed = await idle()

  assert.ok(cron > 0)
  assert.equal(delayed.is_idle, true)
  assert.ok((delayed.next_due_ms ?? 0) > 3_000_000 && (delayed.next_due_ms ?? 0) <= 3_600_000)
})

test("a unit with an open stream of a thread, or an open WebSocket, is not idle", async () => {
  await using unit = await activeUnit()
  const { http, idle, get } = unit
  const counts = async () => {
    const { open_streams } = (await get("/internal/status")) as { open_streams: number }
    return [(await idle()).is_idle, open_streams]
  }
  const threadId = await unit.newThread()
  const later = randomUUID()
  const clients: readonly (() => Promise<{ leave(): void }>)[] = [
    async () => {
      const stream = await http.stream("GET", `/threads/${threadId}/stream`, undefined, token)
      // A stopping server breaks the stream. That error must not hide why the test failed.
      stream.ended.catch(() => undefined)
      return stream
    },
    () => openEvents(http, threadId, everything, token),
    () => openEvents(http, later, everything, token),
    async () => {
      const { ws } = await connect(http, threadId, [], token)
      return { leave: () => ws.close() }
    },
  ]

  for (const open of clients) {
    assert.deepEqual(await counts(), [true, 0])
    const client = await open()
    assert.deepEqual(await counts(), [false, 1])
    client.leave()
    await until(async () => (await counts())[0], { what: "the client has left" })
  }
})

test("a run that is pinned to a revision without servers does not keep the deployment awake, and stays in the queue", async () => {
  await using unit = await activeUnit()
  const { db, newThread, post } = unit
  const isIdle = async () => (await unit.idle()).is_idle
  const threadId = await newThread()
  await db.run(sql`update threads set revision_id = 'old' where thread_id = ${threadId}`)

  await post(`/threads/${threadId}/runs`, { assistant_id: "agent", input: {} })

  assert.equal(await isIdle(), true)
  const old = { serverId: randomUUID(), revisionId: "old", leaseMs: 60_000 }
  await renewServer(db, old, { freeSlots: 0, freeSoloSlots: 0 })
  assert.equal(await isIdle(), false)
  await removeServer(db, old.serverId)
  assert.equal(await isIdle(), true)
  assert.deepEqual(await db.rows(sql`select status from runs`), [{ status: "pending" }])
})

test("a unit passes its liveness check while its database is too busy for its status", async () => {
  await using http = await freshHttp({ unitToken: "sesame", revisionId: "r1" })
  const ask = (path: string) => http.send("GET", path, undefined, token)
  const release = await occupyPool(http.server)

  let hasStatus = false
  const status = ask("/internal/status").then((reply) => {
    hasStatus = true
    return reply.status
  })
  const live = await ask("/internal/live")
  const hadStatus = hasStatus
  await release()

  assert.deepEqual([live.status, hadStatus, await status], [204, false, 200])
})
