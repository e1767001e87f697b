import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { removeServer, renewServer } from "../servers/queries.js"
import { freshHttp } from "../testing/test-http.js"
import { everything, openEvents } from "../thread-stream/testing/protocol-client.js"
import { connect } from "../thread-stream/testing/socket-client.js"

test("a unit is idle when no run is pending or running, and reports when the next cron or delayed run is due", async () => {
  await using http = await freshHttp({ unitToken: "sesame", revisionId: "r1" })
  const token = { "x-superstep-unit": "sesame" }
  const send = (path: string, body: object) => http.send("POST", path, body, token)
  await http.send("POST", "/internal/activate", undefined, token)
  const idle = async () =>
    (await http.send("GET", "/internal/idle", undefined, token)).json as {
      is_idle: boolean
      next_due_ms: number | null
    }
  assert.deepEqual(await idle(), { is_idle: true, next_due_ms: null })

  await send("/runs", { assistant_id: "agent", input: {} })
  const run = await until(() => http.server.workers.started[0], { what: "the run to start" })
  const busy = await idle()
  const counts = (await http.send("GET", "/internal/runs", undefined, token)).json
  run.done()
  await until(async () => (await idle()).is_idle, { what: "the unit is idle again" })

  assert.equal(busy.is_idle, false)
  assert.deepEqual(counts, { pending: 0, running: 1 })
  await send("/runs/crons", { assistant_id: "agent", schedule: "0 0 1 1 *", input: {} })
  const cron = (await idle()).next_due_ms ?? 0
  await send("/runs", { assistant_id: "agent", input: {}, after_seconds: 3600 })
  const delayed = await idle()

  assert.ok(cron > 0)
  assert.equal(delayed.is_idle, true)
  assert.ok((delayed.next_due_ms ?? 0) > 3_000_000 && (delayed.next_due_ms ?? 0) <= 3_600_000)
})

test("a unit with an open stream of a thread, or an open WebSocket, is not idle", async () => {
  await using http = await freshHttp({ unitToken: "sesame", revisionId: "r1" })
  const token = { "x-superstep-unit": "sesame" }
  await http.send("POST", "/internal/activate", undefined, token)
  const counts = async () => {
    const { is_idle } = (await http.send("GET", "/internal/idle", undefined, token)).json as { is_idle: boolean }
    const status = (await http.send("GET", "/internal/status", undefined, token)).json as { open_streams: number }
    return [is_idle, status.open_streams]
  }
  const { thread_id: threadId } = (await http.send("POST", "/threads", {}, token)).json as { thread_id: string }
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
  await using http = await freshHttp({ unitToken: "sesame", revisionId: "next" })
  const token = { "x-superstep-unit": "sesame" }
  const isIdle = async () =>
    ((await http.send("GET", "/internal/idle", undefined, token)).json as { is_idle: boolean }).is_idle
  await http.send("POST", "/internal/activate", undefined, token)
  const { thread_id: threadId } = (await http.send("POST", "/threads", {}, token)).json as { thread_id: string }
  await http.db.run(sql`update threads set revision_id = 'old' where thread_id = ${threadId}`)

  await http.send("POST", `/threads/${threadId}/runs`, { assistant_id: "agent", input: {} }, token)

  assert.equal(await isIdle(), true)
  const old = { serverId: randomUUID(), revisionId: "old", leaseMs: 60_000 }
  await renewServer(http.db, old, { freeSlots: 0, freeSoloSlots: 0 })
  assert.equal(await isIdle(), false)
  await removeServer(http.db, old.serverId)
  assert.equal(await isIdle(), true)
  assert.deepEqual(await http.db.rows(sql`select status from runs`), [{ status: "pending" }])
})
