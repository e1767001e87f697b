/** The call to a worker that reads a thread's state. With real graphs: tests/src/sdk/threads.test.ts. */

import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { NotFound } from "@superstep/toolkit/errors/errors"
import { until } from "@superstep/toolkit/testing/until"
import { anyone } from "../auth/caller.js"
import { putCheckpoint } from "../checkpoints/queries.js"
import { checkpoint } from "../checkpoints/testing/claimed-runs.js"
import { addRun } from "../testing/as-anyone.js"
import { newThread } from "../testing/creations.js"
import { freshServer } from "../testing/test-server.js"
import { WorkerCallFailed } from "../workers/pending-calls.js"
import { deleteThread } from "./operations.js"
import { getThreadHistory, getThreadState, newestState } from "./state-operations.js"

const question = { ...newestState, subgraphs: false, select: undefined }

const threadOfAgent = (server: { readonly db: Database }) => newThread(server, { metadata: { graph_id: "agent" } })

const save = (db: Database, threadId: string, checkpointId: string, run_id?: string) =>
  putCheckpoint(db, undefined, checkpoint({ threadId }, checkpointId, { metadata: JSON.stringify({ run_id }) }))

const told = { fields: {}, payload: [Buffer.from("{}")] }

test("the call contains the checkpoint: the newest one, or the requested one", async () => {
  await using server = await freshServer()
  const threadId = await threadOfAgent(server)
  await save(server.db, threadId, "a")
  await save(server.db, threadId, "b")
  const sent: unknown[] = []
  server.workers.answer = async (_, { tuple }) => {
    sent.push(tuple)
    return told
  }

  await getThreadState(server, anyone, threadId, question)
  await getThreadState(server, anyone, threadId, { ...question, checkpointId: "a" })

  const tupleOf = (checkpoint_id: string) => {
    const blob = { channel: "messages", version: checkpoint_id, type: "json" }
    return { checkpoint_ns: "", checkpoint_id, blobs: [blob], writes: [] }
  }
  assert.deepEqual(sent, [tupleOf("b"), tupleOf("a")])
  await assert.rejects(getThreadState(server, anyone, threadId, { ...question, checkpointId: "c" }), NotFound)
})

test("a thread that was deleted after its graph was asked for it is not found", async () => {
  await using server = await freshServer()
  const threadId = await threadOfAgent(server)
  await save(server.db, threadId, "a")
  const lost = new WorkerCallFailed({ error: "CheckpointGone", message: "it was deleted" })
  server.workers.answer = async () => {
    await deleteThread(server, anyone, threadId)
    throw lost
  }
  await assert.rejects(getThreadState(server, anyone, threadId, question), NotFound)

  const other = await threadOfAgent(server)
  server.workers.answer = async () => {
    await deleteThread(server, anyone, other)
    return { fields: {}, payload: [Buffer.from("[]")] }
  }
  const asked = { ...newestState, limit: 10, before: undefined, filter: undefined, select: undefined }
  await assert.rejects(getThreadHistory(server, anyone, other, asked), NotFound)
})

test("the call names the run that will start, until that run has saved a checkpoint", async () => {
  await using server = await freshServer()
  const threadId = await threadOfAgent(server)
  await save(server.db, threadId, "a")
  const sent: unknown[] = []
  server.workers.answer = async (_, { starting }) => {
    sent.push(starting)
    return told
  }
  const read = () => getThreadState(server, anyone, threadId, question)
  const add = async () => (await addRun(server, { on: threadId })).runId
  const run = () => until(() => [...server.workers.running.values()][0], { what: "the run executes" })

  await read()
  const [first, second] = [await add(), await add()]
  await read()
  await getThreadState(server, anyone, threadId, { ...question, checkpointId: "a" })
  await save(server.db, threadId, "b", first)
  await read()
  ;(await run()).done()
  await until(async () => (await run()).order.runId === second, { what: "the second run executes" })
  await save(server.db, threadId, "c", second)
  await read()

  assert.deepEqual(sent, [undefined, first, undefined, second, undefined])
})
