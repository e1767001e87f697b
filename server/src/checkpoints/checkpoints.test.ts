import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres"
import type { WorkerCall } from "@superstep/protocol/worker/frames"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { silent as log } from "@superstep/toolkit/testing/test-cluster"
import { officialUri, untilOfficialLeft } from "../testing/official-sessions.js"
import { untilBlocked } from "../testing/until-blocked.js"
import { answerCall } from "../workers/calls.js"
import { ClaimLost } from "../workers/fence.js"
import { checkpointCalls } from "./calls.js"
import type { NewCheckpoint } from "./checkpoint.js"
import { findCheckpoints, putCheckpoint, putWrites } from "./queries.js"
import { addRun, nodeWrite as anyWrite, checkpoint as checkpointOn, serverDatabase } from "./testing/claimed-runs.js"
import { journalOfAnyClaim } from "./testing/journal-of-any-claim.js"

const threadId = "5f0f1c1e-0000-4000-8000-000000000001"

const json = (channel: string, version: string, value: unknown) => ({
  channel,
  version,
  type: "json",
  bytes: Buffer.from(JSON.stringify(value)),
})

function checkpoint(id: string, over: Partial<NewCheckpoint> & { versions?: Record<string, string> } = {}) {
  const { versions: channel_versions = { messages: "1" }, ...rest } = over
  const own = checkpointOn({ threadId }, id, { metadata: JSON.stringify({ source: "loop", step: 1 }) })
  const body = JSON.stringify({ ...JSON.parse(own.checkpoint), channel_versions })
  return { ...own, checkpoint: body, blobs: [json("messages", "1", ["hello"])], ...rest }
}

const nodeWrite = (idx: number, channel: string, value: unknown, over = {}) =>
  anyWrite({ taskPath: "~__pregel_pull, ask", idx, channel, bytes: Buffer.from(JSON.stringify(value)), ...over })

test("a saved checkpoint is read back with its blobs and pending writes", async () => {
  await using db = await serverDatabase()
  const versions = { messages: "1", state: "2", gone: "2" }
  const bytes = { channel: "state", version: "2", type: "bytes", bytes: Buffer.from([0, 255, 10, 13]) }
  const empty = { channel: "gone", version: "2", type: "empty", bytes: null }

  const blobs = [json("messages", "1", ["hello"]), bytes, empty]
  await putCheckpoint(db, undefined, checkpoint("a", { versions, blobs }))
  await putWrites(db, undefined, { threadId, checkpointNs: "", checkpointId: "a" }, [nodeWrite(0, "messages", "hi")])

  const [found] = await findCheckpoints(db, { threadId, checkpointNs: "", limit: 1 })
  const byChannel = new Map(found?.blobs.map((blob) => [blob.channel, blob]))
  const whole = { isRepeated: false }
  assert.deepEqual(byChannel.get("messages"), { ...json("messages", "1", ["hello"]), ...whole })
  assert.deepEqual(byChannel.get("state"), { ...bytes, ...whole })
  assert.deepEqual(byChannel.get("gone"), { ...empty, ...whole })
  assert.deepEqual(found?.writes, [nodeWrite(0, "messages", "hi")])
  assert.deepEqual(JSON.parse(found?.metadata ?? ""), { source: "loop", step: 1 })
})

const hasCheckpoint = async (db: Database) => (await findCheckpoints(db, { threadId })).length > 0

test("C1: a claim that is lost while a write waits for its lock stops that write", async () => {
  await using db = await serverDatabase()
  const fence = await addRun(db, threadId)

  const late = await db.transaction(async (tx) => {
    await tx.run(sql`update runs set claim_id = ${randomUUID()} where run_id = ${fence.runId}`)
    const write = putCheckpoint(db, fence, checkpoint("a")).catch((error: unknown) => error)
    await untilBlocked(db)
    return { write }
  })

  assert.ok((await late.write) instanceof ClaimLost)
  assert.equal(await hasCheckpoint(db), false)
})

test("C1: a claim cannot be taken while a write of it is not committed", async () => {
  await using db = await serverDatabase()
  const fence = await addRun(db, threadId)

  const { taking } = await db.transaction(async (tx) => {
    await putCheckpoint(tx, fence, checkpoint("a"))
    const taking = db
      .run(sql`update runs set claim_id = ${randomUUID()} where run_id = ${fence.runId}`)
      .then(() => hasCheckpoint(db))
    await untilBlocked(db)
    return { taking }
  })

  assert.equal(await taking, true)
})

test("C4: writes of a node keep their first value, LangGraph's own writes replace earlier ones", async () => {
  await using db = await serverDatabase()
  const address = { threadId, checkpointNs: "", checkpointId: "a" }
  await putCheckpoint(db, undefined, checkpoint("a"))
  await putWrites(db, undefined, address, [nodeWrite(0, "messages", "first"), nodeWrite(0, "messages", "same place")])
  await putWrites(db, undefined, address, [nodeWrite(-4, "__resume__", "no"), nodeWrite(-4, "__resume__", "maybe")])

  await putWrites(db, undefined, address, [nodeWrite(0, "messages", "second")])
  await putWrites(db, undefined, address, [nodeWrite(-4, "__resume__", "yes")])

  const [found] = await findCheckpoints(db, { threadId, checkpointNs: "" })
  const writes = found?.writes.map(({ channel, bytes }) => `${channel} ${bytes}`)
  assert.deepEqual(writes, ['__resume__ "yes"', 'messages "first"'])
})

test("C3: pending writes are ordered by the path of their task, then task and index", async () => {
  await using db = await serverDatabase()
  const address = { threadId, checkpointNs: "", checkpointId: "a" }
  await putCheckpoint(db, undefined, checkpoint("a"))

  await putWrites(db, undefined, address, [
    nodeWrite(1, "x", 4, { taskPath: "~b", taskId: "1" }),
    nodeWrite(0, "x", 3, { taskPath: "~b", taskId: "1" }),
    nodeWrite(0, "x", 2, { taskPath: "~a", taskId: "9" }),
    nodeWrite(0, "x", 1, { taskPath: "~A", taskId: "9b" }),
  ])

  const [found] = await findCheckpoints(db, { threadId })
  const order = found?.writes.map(({ bytes }) => bytes.toString())
  assert.deepEqual(order, ["1", "2", "3", "4"])
})

test("a list has the checkpoint that was saved last first, and respects namespace, cursor, filter and limit", async () => {
  await using db = await serverDatabase()
  const metadata = (step: number) => JSON.stringify({ step, source: "loop" })
  for (const [step, id] of ["a", "b", "c", "d"].entries()) {
    await putCheckpoint(db, undefined, checkpoint(id, { metadata: metadata(step), blobs: [] }))
  }
  await putCheckpoint(db, undefined, checkpoint("bb", { checkpointNs: "sub:1", blobs: [] }))
  const ids = async (query: object) =>
    (await findCheckpoints(db, { threadId, ...query })).map(({ checkpointId }) => checkpointId)

  assert.deepEqual(await ids({}), ["bb", "d", "c", "b", "a"])
  assert.deepEqual(await ids({ checkpointNs: "", limit: 2 }), ["d", "c"])
  assert.deepEqual(await ids({ checkpointNs: "", before: "c" }), ["b", "a"])
  assert.deepEqual(await ids({ filter: { step: 2 } }), ["c"])
  assert.deepEqual(await ids({ checkpointNs: "", checkpointId: "b" }), ["b"])
  assert.deepEqual(await ids({ checkpointNs: "elsewhere" }), [])
})

test("C5: text that jsonb rejects is saved, and the values keep it exactly", async () => {
  await using db = await serverDatabase()
  const text = "zero \u0000, half \ud800, escaped \\u0000"
  const metadata = JSON.stringify({ writes: { text } })

  await putCheckpoint(db, undefined, checkpoint("a", { metadata, blobs: [json("messages", "1", text)] }))

  const [found] = await findCheckpoints(db, { threadId, filter: { writes: { text } } })
  assert.equal(found?.blobs[0]?.bytes?.toString(), JSON.stringify(text))
  assert.equal(JSON.parse(found?.metadata ?? "").writes.text, "zero \ufffd, half \ufffd, escaped \\u0000")
})

test("C6: a run's checkpoints can be deleted without changing earlier ones", async () => {
  await using db = await serverDatabase()
  const fence = await addRun(db, threadId)
  await putCheckpoint(db, undefined, checkpoint("a"))
  await putCheckpoint(db, fence, checkpoint("b", { parentCheckpointId: "a" }))
  await putWrites(db, fence, { threadId, checkpointNs: "", checkpointId: "b" }, [nodeWrite(0, "messages", "x")])
  // The answer to an interrupt is written to the checkpoint of the previous run.
  await putWrites(db, fence, { threadId, checkpointNs: "", checkpointId: "a" }, [nodeWrite(0, "messages", "y")])

  await db.run(sql`select delete_checkpoints_of_run(${threadId}, ${fence.runId})`)

  assert.deepEqual(fieldsOf(await findCheckpoints(db, { threadId }), "checkpointId"), ["a"])
  assert.deepEqual(await db.rows(sql`select from checkpoint_writes`), [])
  await db.run(sql`select delete_checkpoints(${threadId})`)
  assert.equal(await hasCheckpoint(db), false)
  assert.deepEqual(await db.rows(sql`select from checkpoint_blobs`), [])
})

test("C2: the official saver reads our checkpoints, and we read its checkpoints", async () => {
  await using db = await serverDatabase()
  const official = PostgresSaver.fromConnString(officialUri(db))
  const fence = await addRun(db, threadId)
  await putCheckpoint(db, fence, checkpoint("a", { blobs: [json("messages", "1", ["hello"])] }))
  await putWrites(db, fence, { threadId, checkpointNs: "", checkpointId: "a" }, [nodeWrite(0, "messages", "hi")])

  await official.setup()
  const place = { thread_id: threadId, checkpoint_ns: "" }
  const tuple = await official.getTuple({ configurable: place })
  const values = { channel_values: { messages: "theirs" }, channel_versions: { messages: 2 }, versions_seen: {} }
  const metadata = { source: "loop", step: 2, parents: {} } as const
  const parent = { configurable: { ...place, checkpoint_id: "a" } }
  await official.put(parent, { v: 4, id: "b", ts: "", ...values }, metadata, { messages: 2 })
  await official.end()
  await untilOfficialLeft(db)

  assert.deepEqual(tuple?.checkpoint.channel_values, { messages: ["hello"] })
  assert.deepEqual(tuple?.pendingWrites, [["task", "messages", "hi"]])
  assert.equal((tuple?.metadata as { run_id?: string } | undefined)?.run_id, fence.runId)
  const [found] = await findCheckpoints(db, { threadId, checkpointNs: "", limit: 1 })
  assert.equal(found?.parentCheckpointId, "a")
  assert.equal(found?.blobs[0]?.bytes?.toString(), '"theirs"')
})

interface ListedTuple {
  readonly checkpoint_id: string
  readonly blobs: readonly { readonly channel: string; readonly repeated?: boolean }[]
}

test("a list is returned in pages, and a value that several checkpoints of a page share is sent once", async () => {
  await using db = await serverDatabase()
  const calls = checkpointCalls({ db, journal: journalOfAnyClaim({ db, log }) })
  const ids = Array.from({ length: 25 }, (_, n) => String(n).padStart(3, "0"))
  for (const [n, id] of ids.entries()) {
    const versions = { messages: "1", step: `${n}` }
    const blobs = [json("messages", "1", ["all"]), json("step", `${n}`, n)]
    await putCheckpoint(db, undefined, checkpoint(id, { versions, blobs }))
  }
  const list = async (fields: object) => {
    const reply = await calls["checkpoint.list"]?.({ thread_id: threadId, ...fields }, [])
    const tuples = reply?.fields?.tuples as ListedTuple[]
    const lines = reply?.payload?.map(({ data }) => String(data)) ?? []
    return { tuples, more: reply?.fields?.more, times: lines.filter((line) => line === '["all"]').length }
  }

  const first = await list({})
  const second = await list({ before: first.tuples.at(-1)?.checkpoint_id })
  const limited = await list({ limit: 20 })

  const listed = [first, second].flatMap(({ tuples }) => fieldsOf(tuples, "checkpoint_id"))
  assert.deepEqual(listed, ids.toReversed())
  assert.deepEqual([first.more, second.more, limited.more], [true, undefined, undefined])
  assert.deepEqual([first.times, second.times, limited.times], [1, 1, 1])
  const repeated = first.tuples.map(({ blobs }) => blobs.find(({ channel }) => channel === "messages")?.repeated)
  assert.deepEqual(repeated, [undefined, ...Array(19).fill(true)])
  assert.ok(first.tuples.every(({ blobs }) => blobs.find(({ channel }) => channel === "step")?.repeated === undefined))
})

test("C1: a worker's write without a claim is rejected", async () => {
  await using db = await serverDatabase()
  const { runId } = await addRun(db, threadId)
  const calls = checkpointCalls({ db, journal: journalOfAnyClaim({ db, log }) })
  const header = { type: "call", call_id: "1", thread_id: threadId, checkpoint_ns: "", checkpoint_id: "a" }
  const lines = ["{}", "{}"].map((text) => Buffer.from(text))

  for (const half of [{}, { run_id: runId }, { run_id: null, claim_id: null }, { run_id: runId, claim_id: "1" }]) {
    const call = (method: string, fields: object, payload: readonly Buffer[]) =>
      answerCall(calls, { ...header, method, ...half, ...fields } as WorkerCall, payload, "javascript")
    const put = { blobs: [], payload: ["checkpoint", "metadata"] }
    await assert.rejects(call("checkpoint.put", put, lines), InvalidInput)
    await assert.rejects(call("checkpoint.put_writes", { writes: [] }, []), InvalidInput)
  }

  assert.equal(await hasCheckpoint(db), false)
})

test("JSON that another tool saved with line breaks still fits on a payload line", async () => {
  await using db = await serverDatabase()
  const bytes = Buffer.from(JSON.stringify({ a: "b\nc" }, null, 2))
  await putCheckpoint(db, undefined, checkpoint("a", { blobs: [{ ...json("messages", "1", ""), bytes }] }))

  const calls = checkpointCalls({ db, journal: journalOfAnyClaim({ db, log }) })
  const got = await calls["checkpoint.get"]?.({ thread_id: threadId, checkpoint_ns: "" }, [])

  const line = String(got?.payload?.[2]?.data)
  assert.equal(line.includes("\n"), false)
  assert.deepEqual(JSON.parse(line), { a: "b\nc" })
})
