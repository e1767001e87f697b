/** T1 under concurrency: changes while an update is being computed. With real graphs: tests/src/sdk/threads.test.ts. */

import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { RawJson } from "@superstep/toolkit/http/json"
import { until } from "@superstep/toolkit/testing/until"
import { anyone } from "../auth/caller.js"
import { deleteRun } from "../runs/queries.js"
import { addRun } from "../testing/as-anyone.js"
import { newThread } from "../testing/creations.js"
import { freshServer, type TestServer } from "../testing/test-server.js"
import { WorkerCallFailed } from "../workers/pending-calls.js"
import type { Reply } from "../workers/port.js"
import { getThread } from "./operations.js"
import { getThreadHistory, newestState, updateThreadState } from "./state-operations.js"

const update = { ...newestState, supersteps: [{ updates: [{ values: {} }] }] }

const threadOfAgent = (server: { readonly db: Database }) => newThread(server, { metadata: { graph_id: "agent" } })

/** A worker's reply to an update that makes one checkpoint. */
const made = (checkpointId: string): Reply => ({
  fields: {
    checkpoint: { checkpoint_ns: "", checkpoint_id: checkpointId },
    puts: [{ checkpoint_ns: "", checkpoint_id: checkpointId, blobs: [] }],
  },
  payload: [`{"made":"${checkpointId}"}`, "{}", "{}", "{}"].map((line) => Buffer.from(line)),
})

const checkpointsOf = async (db: Database, threadId: string) => {
  const ids = sql`select checkpoint_id as id from checkpoints where thread_id = ${threadId} order by 1`
  const rows = await db.rows<{ id: string }>(ids)
  return rows.map(({ id }) => id).join("")
}

const untilIdle = ({ db }: TestServer, threadId: string) =>
  until(async () => (await getThread(db, anyone, threadId)).status === "idle", { what: "the run has ended" })

test("T1: an update during which a run starts is rejected and writes nothing", async () => {
  await using server = await freshServer()
  const threadId = await threadOfAgent(server)
  server.workers.answer = async () => {
    await addRun(server, { on: threadId })
    return made("1")
  }

  await assert.rejects(updateThreadState(server, anyone, threadId, update), Conflict)

  assert.equal(await checkpointsOf(server.db, threadId), "")
  assert.equal((await getThread(server.db, anyone, threadId)).values, null)
})

test("T1: an update during which a run starts and ends is computed again from the run's result", async () => {
  await using server = await freshServer()
  const threadId = await threadOfAgent(server)
  let asked = 0
  server.workers.answer = async () => {
    asked += 1
    if (asked > 1) return made("2")
    const { runId } = await addRun(server, { on: threadId })
    server.workers.running.get(runId)?.done({ values: '{"from":"the run"}' })
    await untilIdle(server, threadId)
    return made("1")
  }

  const checkpoint = await updateThreadState(server, anyone, threadId, update)

  assert.deepEqual([asked, checkpoint.checkpoint_id], [2, "2"])
  assert.equal(await checkpointsOf(server.db, threadId), "2")
  assert.equal((await getThread(server.db, anyone, threadId)).values, '{"made":"2"}')
})

test("T1: an update during which a run is deleted is computed again from the remaining state", async () => {
  await using server = await freshServer()
  const threadId = await threadOfAgent(server)
  const { runId } = await addRun(server, { on: threadId })
  server.workers.running.get(runId)?.done()
  await untilIdle(server, threadId)
  let asked = 0
  server.workers.answer = async () => {
    asked += 1
    if (asked === 1) assert.equal((await deleteRun(server.db, threadId, runId)).outcome, "deleted")
    return made(String(asked))
  }

  await updateThreadState(server, anyone, threadId, update)

  assert.equal(asked, 2)
  assert.equal(await checkpointsOf(server.db, threadId), "2")
})

test("a thread that is pruned while its graph reads it is read again a limited number of times", async () => {
  await using server = await freshServer()
  const threadId = await threadOfAgent(server)
  const gone = new WorkerCallFailed({ error: "CheckpointGone", message: "checkpoint 1 was deleted while it was read" })
  const query = { ...newestState, limit: 10, before: undefined, filter: undefined, select: undefined }
  const rounds = (failures: number) => {
    let left = failures
    return async (): Promise<Reply> => {
      left -= 1
      if (left >= 0) throw gone
      return { fields: {}, payload: [Buffer.from('["what is left"]')] }
    }
  }

  server.workers.answer = rounds(2)
  const history = await getThreadHistory(server, anyone, threadId, query)
  server.workers.answer = rounds(1000)
  const never = getThreadHistory(server, anyone, threadId, query)

  await assert.rejects(never, /was deleted while it was read/)
  assert.deepEqual(history, new RawJson('["what is left"]'))
})
