import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { silent as log } from "@superstep/toolkit/testing/test-cluster"
import { checkpointCalls } from "./checkpoints/calls.js"
import { Journal } from "./checkpoints/journal.js"
import { findCheckpoints } from "./checkpoints/queries.js"
import { addRun, gate } from "./checkpoints/testing/claimed-runs.js"
import { openDatabases, poolSizes } from "./databases.js"
import { serverDatabase } from "./testing/test-server.js"

test("each kind of work has a connection of its own, and all together have as many as were given", () => {
  for (let total = 4; total < 40; total++) {
    const { requests, engine, calls } = poolSizes(total)

    assert.ok(Math.min(requests, engine, calls) >= 1, `${total}`)
    assert.equal(1 + requests + engine + calls, total)
  }
})

test("slow reads of graphs, as many as there may be at once, delay no write of a run", async () => {
  await using db = await serverDatabase()
  const databases = openDatabases({ uri: db.uri, poolSize: 4, leaseMs: 30_000, requestMs: 0, log })
  const { engine, calls: reading } = databases
  const { threadId, ...fence } = await addRun(db)
  const journal = new Journal({ db: engine, log })
  journal.open(fence)
  const calls = checkpointCalls({ db: reading, journal })
  const address = { thread_id: threadId, checkpoint_ns: "" }
  const claim = { run_id: fence.runId, claim_id: fence.claimId }
  let answered = 0
  const released = gate()

  const slow = reading.transaction(() => released.opened)
  const reads = Array.from({ length: 4 }, async () => {
    await calls["checkpoint.list"]?.(address, [])
    answered++
  })
  const put = { ...claim, ...address, checkpoint_id: "1", blobs: [] }
  await calls["checkpoint.put"]?.(put, [Buffer.from('{"channel_versions":{}}'), Buffer.from("{}")])
  const stored = await findCheckpoints(db, { threadId })
  const answeredBefore = answered
  released.open()
  await Promise.all([slow, ...reads])

  assert.deepEqual(fieldsOf(stored, "checkpointId"), ["1"])
  assert.deepEqual([answeredBefore, answered], [0, 4])
  await databases.close()
})
