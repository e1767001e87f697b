import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp } from "../testing/test-http.js"

const threadsIn = async (db: Database) => (await db.row<{ n: number }>(sql`select count(*) as n from threads`))?.n

test("a key that was used for another request, or is too long, is rejected", async () => {
  await using http = await freshHttp()
  const send = (body: unknown, key: string) => http.send("POST", "/threads", body, { "idempotency-key": key })
  await send({}, "k")

  const other = await send({ metadata: { n: 2 } }, "k")
  const long = await send({}, "k".repeat(256))

  assert.deepEqual([other.status, long.status], [422, 422])
  assert.match(other.text, /was used for another request: choose a new key.*idempotency_key_reused/)
  assert.match(long.text, /longer than 255/)
  assert.equal(await threadsIn(http.db), 1)
})

test("requests with a key that wait for a worker hold no database connection", async () => {
  await using http = await freshHttp()
  // More than the connections of the pool.
  const count = 12
  let asked = 0
  http.server.workers.answer = async () => {
    asked += 1
    await until(() => asked === count, { what: "all requests have asked the worker" })
    await threadsIn(http.db)
    return { fields: { checkpoint: {}, puts: [] }, payload: ["{}", "{}"].map((line) => Buffer.from(line)) }
  }
  const body = { metadata: { graph_id: "agent" }, supersteps: [{ updates: [{ values: {}, as_node: "a" }] }] }

  const replies = await Promise.all(
    Array.from({ length: count }, (_, n) => http.send("POST", "/threads", body, { "idempotency-key": `k${n}` })),
  )

  for (const { status } of replies) assert.equal(status, 200)
  assert.equal(await threadsIn(http.db), count)
})
