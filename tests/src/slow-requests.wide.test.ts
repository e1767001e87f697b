/** Requests that occupy the database hold no run up, and are given up themselves (E2). */

import assert from "node:assert/strict"
import { test } from "node:test"
import { openDatabase } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { silent as log } from "@superstep/toolkit/testing/test-cluster"
import { ask } from "./testing/ask.js"
import { startGraphServer } from "./testing/graph-server.js"

test("runs go on while slow requests hold all connections that requests have, and those get 503 in the end", async () => {
  await using server = await startGraphServer({
    LANGGRAPH_POSTGRES_POOL_MAX_SIZE: "4",
    SUPERSTEP_STATEMENT_TIMEOUT_SECONDS: "2",
  })
  await using db = openDatabase({ uri: server.db.uri, poolSize: 1, log })
  const search = () => ask(server, "/assistants/search", { method: "POST", body: "{}" })
  const run = { assistant_id: "slow", input: { n: 0 }, config: { configurable: { tick_ms: 200 } } }
  const stream = await fetch(`${server.url}/runs/stream`, {
    method: "POST",
    headers: server.headers,
    body: JSON.stringify(run),
  })

  const { replies, events } = await db.transaction(async (tx) => {
    // Every search waits for the lock until its statement is given up; the run needs no assistant.
    await tx.run(sql`lock table assistants in access exclusive mode`)
    const searches = [1, 2, 3, 4].map(search)
    const events = await stream.text()
    return { replies: await Promise.all(searches), events }
  })
  const after = await search()

  assert.match(events, /^event: end\ndata: .*"status":"success"/m)
  assert.deepEqual(fieldsOf(replies, "status"), [503, 503, 503, 503])
  assert.match(replies[0]?.body.detail, /took too long/)
  assert.equal(after.status, 200)
})
