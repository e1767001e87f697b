/** When the claim loop may claim. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { v7 as uuidv7 } from "uuid"
import { freshServer } from "../testing/test-server.js"
import { ClaimLoop } from "./claim-loop.js"

test("a worker that is ready before the loop has started does not cost a run its first attempt", async () => {
  await using server = await freshServer()
  await server.loop.stop()
  const [threadId, runId] = [uuidv7(), uuidv7()]
  await server.db.run(sql`insert into threads (thread_id) values (${threadId})`)
  await server.db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy)
    values (${runId}, ${threadId}, ${uuidv7()}, 'agent', 'pending', '{}',
      '{"config": {}, "stream_mode": ["values"], "durability": "async"}', 'enqueue')`)
  const loop = new ClaimLoop({ ...server, sweepMs: 50, maxGapMs: 10_000, graceMs: 0 })

  loop.slotFreed()
  loop.wake()
  await loop.start()
  const [started] = await until(() => server.workers.started.length > 0 && server.workers.started, {
    what: "the run starts",
  })

  assert.equal(started?.order.attempt, 1)
  await loop.stop()
})
