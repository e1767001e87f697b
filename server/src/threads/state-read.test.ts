/** The call to a worker that reads a thread's state. With real graphs: tests/src/sdk/threads.test.ts. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { NotFound } from "@superstep/toolkit/errors/errors"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { anyone } from "../auth/caller.js"
import { putCheckpoint } from "../checkpoints/queries.js"
import { migrations, startTestServer } from "../testing/test-server.js"
import { WorkerCallFailed } from "../workers/pending-calls.js"
import { createThread } from "./operations.js"
import { getThreadState, newestState } from "./state-operations.js"

const question = { ...newestState, subgraphs: false, select: undefined }

const newThread = async (db: Database) =>
  (await createThread(db, anyone, { threadId: undefined, metadata: { graph_id: "agent" }, ifExists: "raise" }))
    .thread_id

const save = (db: Database, threadId: string, checkpointId: string) =>
  putCheckpoint(db, undefined, {
    threadId,
    checkpointNs: "",
    checkpointId,
    parentCheckpointId: null,
    checkpoint: JSON.stringify({ id: checkpointId, channel_versions: { n: "1" } }),
    metadata: "{}",
    blobs: [{ channel: "n", version: "1", type: "json", bytes: Buffer.from("1") }],
  })

const told = { fields: {}, payload: [Buffer.from("{}")] }

test("the call contains the checkpoint: the newest one, or the requested one", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const threadId = await newThread(db)
  await save(db, threadId, "a")
  await save(db, threadId, "b")
  const sent: unknown[] = []
  server.workers.answer = async (_, { tuple }) => {
    sent.push(tuple)
    return told
  }

  await getThreadState(server, anyone, threadId, question)
  await getThreadState(server, anyone, threadId, { ...question, checkpointId: "a" })

  const tuple = { checkpoint_ns: "", blobs: [{ channel: "n", version: "1", type: "json" }], writes: [] }
  assert.deepEqual(sent, [
    { ...tuple, checkpoint_id: "b" },
    { ...tuple, checkpoint_id: "a" },
  ])
  await assert.rejects(getThreadState(server, anyone, threadId, { ...question, checkpointId: "c" }), NotFound)
})

test("a thread that was pruned while its graph read it is read again", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const threadId = await newThread(db)
  await save(db, threadId, "a")
  const sent: unknown[] = []
  server.workers.answer = async (_, { tuple }) => {
    sent.push((tuple as { checkpoint_id: string }).checkpoint_id)
    if (sent.length > 1) return told
    await save(db, threadId, "b")
    throw new WorkerCallFailed({ error: "CheckpointGone", message: "it was deleted" })
  }

  await getThreadState(server, anyone, threadId, question)

  assert.deepEqual(sent, ["a", "b"])
})
