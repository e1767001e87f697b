/** C7: the data from which a checkpoint's delta channels are rebuilt is kept as long as the checkpoint. With real graphs: tests/src/delta-channels.test.ts. */

import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { deleteRun } from "../runs/queries.js"
import { serverDatabase } from "../testing/test-server.js"
import { copyCheckpoints } from "../threads/copy-queries.js"
import { keepLatestCheckpoints } from "../threads/queries.js"
import { findDeltaHistory } from "./ancestor-queries.js"
import { checkpointCalls } from "./calls.js"
import { findCheckpoints } from "./queries.js"
import { DeltaThread, deltaChannels } from "./testing/delta-thread.js"

/** A thread's visible history: each checkpoint with its values, texts joined in the order of their writes. */
async function historyOf(db: Database, threadId: string): Promise<Record<string, string>> {
  const shown: Record<string, string> = {}
  for (const { checkpointId, checkpointNs } of await findCheckpoints(db, { threadId })) {
    const [{ blobs = [] } = {}] = await findCheckpoints(db, { threadId, checkpointNs, checkpointId, limit: 1 })
    const storedAt = (name: string) => blobs.filter(({ channel, type }) => channel === name && type !== "empty")
    const place = { threadId, checkpointNs, checkpointId }
    const channels = deltaChannels.filter((channel) => storedAt(channel).length === 0)
    const history = await findDeltaHistory(db, { ...place, channels })
    const rebuilt = [...(history?.stored ?? []), ...(history?.writes ?? [])]
    const textOf = (name: string) =>
      [...storedAt(name), ...rebuilt.filter(({ channel }) => channel === name)]
        .map(({ bytes }) => JSON.parse(String(bytes)))
        .join("")
    shown[`${checkpointNs} ${checkpointId}`] = ["log", ...deltaChannels].map(textOf).join(" ")
  }
  return shown
}

const messagesAt = async (db: Database, threadId: string, id: string) =>
  (await historyOf(db, threadId))[` ${id}`]?.split(" ")[1]

/** Turns of a conversation: an input and an answer each. A new thread stores its first input; `files` are added once, in turn 3. */
async function conversation(db: Database, turns: number) {
  const thread = await DeltaThread.create(db)
  const runIds: string[] = []
  let parent: string | undefined
  for (let turn = 1; turn <= turns; turn++) {
    const runId = await thread.addRun()
    runIds.push(runId)
    const [input, answer] = [`${turn}a`, `${turn}b`]
    const first = turn === 1 ? { stores: { messages: "q1." } } : { adds: { messages: `q${turn}.` } }
    await thread.add({ id: input, ...(parent === undefined ? {} : { parent }), runId, ...first })
    const adds = { messages: `a${turn}.`, ...(turn === 3 && { files: "notes." }) }
    await thread.add({ id: answer, parent: input, runId, adds })
    parent = answer
  }
  return { thread, threadId: thread.threadId, runIds }
}

const said = (turns: readonly number[]) => turns.map((turn) => `q${turn}.a${turn}.`).join("")

const runOf = (runIds: readonly string[], turn: number): string => {
  const runId = runIds[turn - 1]
  assert.ok(runId)
  return runId
}

test("C7: keep_latest keeps no other data", async () => {
  await using db = await serverDatabase()
  const { thread, threadId } = await conversation(db, 6)
  const runId = await thread.addRun()
  await thread.add({ id: "7a", parent: "6b", runId, stores: { messages: "all." } })
  await thread.add({ id: "7b", parent: "7a", runId, adds: { messages: "a7." } })

  await keepLatestCheckpoints(db, threadId)

  const rows = await db.rows<{ id: string; parent: string | null }>(sql`
    select checkpoint_id as id, parent_checkpoint_id as parent from checkpoints where thread_id = ${threadId} order by 1`)
  // 3a holds the write to files, 7a the messages.
  assert.deepEqual(fieldsOf(rows, "id", "parent"), [
    ["3a", null],
    ["7a", "3a"],
    ["7b", "7a"],
  ])
  const kept = await db.rows<{ of: string }>(sql`
    select checkpoint_id || ' ' || channel as of from checkpoint_writes where thread_id = ${threadId} union all
    select version from checkpoint_blobs where thread_id = ${threadId} and type <> 'empty' order by 1`)
  assert.deepEqual(fieldsOf(kept, "of"), ["3a files", "7a messages", "log-7b", "messages-7a"])
})

test("C7: writes of a failed run are kept for the run that continued from it, and a run that another starts from may be deleted", async () => {
  await using db = await serverDatabase()
  const { thread, threadId } = await conversation(db, 2)
  const failed = await thread.addRun()
  await thread.addWrites({ id: "2c", parent: "2b", runId: failed, adds: { messages: "half." } })
  await thread.add({ id: "3a", parent: "2b", runId: await thread.addRun(), adds: { messages: "rest." } })

  await deleteRun(db, threadId, failed)

  assert.equal(await messagesAt(db, threadId, "3a"), `${said([1, 2])}half.rest.`)

  const { thread: other, threadId: otherId, runIds: otherRuns } = await conversation(db, 3)
  const running = await other.addRun("running")

  await deleteRun(db, otherId, runOf(otherRuns, 3))
  await other.add({ id: "4a", parent: "3b", runId: running, adds: { messages: "q4." } })

  assert.equal(await messagesAt(db, otherId, "4a"), `${said([1, 2, 3])}q4.`)
})

test("C7: a copy of a pruned thread has all data from which it is rebuilt", async () => {
  await using db = await serverDatabase()
  const { threadId } = await conversation(db, 4)
  await keepLatestCheckpoints(db, threadId)
  const copy = crypto.randomUUID()

  await (await copyCheckpoints(db, threadId, copy))?.(db, "{}")

  assert.deepEqual(await historyOf(db, copy), await historyOf(db, threadId))
})

test("a worker's call gets stored values and writes, line by line, and nothing for a hidden checkpoint", async () => {
  await using db = await serverDatabase()
  const { threadId } = await conversation(db, 2)
  await keepLatestCheckpoints(db, threadId)
  const calls = checkpointCalls({ db, journal: { of: neverCalled, flush: async () => undefined } })
  const place = { thread_id: threadId, checkpoint_ns: "", channels: ["messages"] }

  const newest = await calls["checkpoint.ancestors"]?.(place, [])
  const hidden = await calls["checkpoint.ancestors"]?.({ ...place, checkpoint_id: "1b" }, [])

  const write = (turn: string, idx = 1) => ({
    task_id: `task of ${turn}`,
    task_path: "",
    idx,
    channel: "messages",
    type: "json",
  })
  assert.deepEqual(newest?.fields, {
    history: {
      blobs: [{ channel: "messages", version: "messages-1a", type: "json" }],
      writes: [write("1b"), write("2a"), write("2b")],
    },
  })
  const lines = newest?.payload?.map(({ name, data }) => `${name} ${data}`)
  assert.deepEqual(lines, ['blob "q1."', 'write "a1."', 'write "q2."', 'write "a2."'])
  assert.deepEqual(hidden, {})
})

const neverCalled = () => assert.fail("a question writes nothing")

// 200 pass as well; each takes a tenth of a second or more.
const seeds = 5

/** Forks, subgraphs, snapshots and runs in random order. */
async function randomThread(db: Database, seed: number) {
  const { below: upTo } = seededRandom(seed)
  const thread = await DeltaThread.create(db)
  const runIds: string[] = []
  const made: Record<string, string[]> = { "": [], "sub:1": [] }
  for (let n = 10; n < 34; n++) {
    if (upTo(3) === 0 || runIds.length === 0) runIds.push(await thread.addRun())
    const ns = upTo(4) === 0 ? "sub:1" : ""
    const ids = made[ns] ?? []
    const parent = upTo(6) === 0 ? ids[upTo(ids.length)] : ids.at(-1)
    const runId = runOf(runIds, upTo(8) === 0 ? 1 + upTo(runIds.length) : runIds.length)
    const texts = (rarity: number) =>
      Object.fromEntries(deltaChannels.filter(() => upTo(rarity) === 0).map((channel) => [channel, `${n}.`]))
    await thread.add({ id: `${n}`, ...(parent && { parent }), runId, ns, adds: texts(2), stores: texts(7) })
    ids.push(`${n}`)
  }
  return { threadId: thread.threadId, runIds, upTo }
}

test("C7: after any removals, the remaining checkpoints have their values", async () => {
  await using db = await serverDatabase()
  for (let seed = 1; seed <= seeds; seed++) {
    const { threadId, runIds, upTo } = await randomThread(db, seed)
    for (let round = 0; round < 5 && runIds.length > 0; round++) {
      const before = await historyOf(db, threadId)

      if (upTo(4) === 0) await keepLatestCheckpoints(db, threadId)
      else await deleteRun(db, threadId, runOf(runIds.splice(upTo(runIds.length), 1), 1))

      const after = await historyOf(db, threadId)
      const expected = Object.fromEntries(Object.keys(after).map((place) => [place, before[place]]))
      assert.deepEqual(after, expected, `seed ${seed}, round ${round}`)
    }
  }
})
