/** Long threads are deleted, pruned and copied in portions: no statement takes longer the longer a thread is (T3). */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { findCheckpoints } from "../checkpoints/queries.js"
import { serverDatabase } from "../testing/test-server.js"
import { untilBlocked } from "../testing/until-blocked.js"
import { copyCheckpoints } from "./copy-queries.js"
import { deleteThread } from "./deletion-queries.js"
import { findThread, insertThread, keepLatestCheckpoints } from "./queries.js"
import { removePortion } from "./sweep-queries.js"

const steps = 40

/** A thread with a value and a write of a megabyte at each step: more than a portion of each kind. */
async function longThread(db: Database): Promise<string> {
  const threadId = randomUUID()
  await insertThread(db, threadId, '{"name":"long"}')
  const all = sql`generate_series(1, ${steps}::int) as n`
  const megabyte = sql`convert_to(repeat('x', 1024 * 1024), 'UTF8')`
  await db.run(sql`
    insert into checkpoints (thread_id, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
    select ${threadId}, 'c' || lpad(n::text, 3, '0'), 'c' || lpad((n - 1)::text, 3, '0'),
      jsonb_build_object('channel_versions', jsonb_build_object('log', n::text)), '{}' from ${all}`)
  await db.run(sql`
    insert into checkpoint_blobs (thread_id, channel, version, type, blob)
    select ${threadId}, 'log', n::text, 'json', ${megabyte} from ${all}`)
  await db.run(sql`
    insert into checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, type, blob)
    select ${threadId}, 'c' || lpad(n::text, 3, '0'), 't', 0, 'log', 'json', ${megabyte} from ${all}`)
  return threadId
}

/** The rows of a thread in each of the three tables. */
async function rowsOf(db: Database, threadId: string): Promise<readonly number[]> {
  const row = await db.row<{ counts: number[] }>(sql`
    select array[(select count(*) from checkpoints where thread_id = ${threadId}),
      (select count(*) from checkpoint_blobs where thread_id = ${threadId}),
      (select count(*) from checkpoint_writes where thread_id = ${threadId})]::int[] as counts`)
  return row?.counts ?? []
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)

test("T3: a long thread is gone at once, and its checkpoints go in portions, also when the server is another one", async () => {
  await using db = await serverDatabase()
  const threadId = await longThread(db)

  await deleteThread(db, threadId)
  const left = [sum(await rowsOf(db, threadId))]
  const sameId = insertThread(db, threadId, "{}")
  await assert.rejects(sameId, Unavailable)
  while (await removePortion(db)) left.push(sum(await rowsOf(db, threadId)))

  assert.equal(await findThread(db, threadId), undefined)
  assert.ok((left[0] ?? 0) > steps, `the deletion itself removes only the first rows, ${left}`)
  assert.ok(left.length > 3, `each portion is a part, ${left}`)
  const falling = left.toSorted((a, b) => b - a)
  assert.deepEqual(left, falling)
  assert.equal(left.at(-1), 0)
  assert.equal((await insertThread(db, threadId, "{}"))?.thread_id, threadId)
})

test("a long thread is pruned in portions, and after each of them its state is whole", async () => {
  await using db = await serverDatabase()
  const threadId = await longThread(db)
  const before = await findCheckpoints(db, { threadId, checkpointNs: "", limit: 1 })

  const portion = sql`select prune_checkpoints(${threadId}, 15, ${8 * 1024 * 1024}) as outcome`
  const first = await db.row<{ outcome: string }>(portion)
  const between = await rowsOf(db, threadId)
  const state = await findCheckpoints(db, { threadId, checkpointNs: "", limit: 1 })
  const pruned = await keepLatestCheckpoints(db, threadId)

  assert.equal(first?.outcome, "more")
  assert.ok((between[0] ?? 0) < steps && (between[0] ?? 0) > 1, `${between}`)
  assert.deepEqual(state, before)
  assert.equal(pruned, true)
  assert.deepEqual(await rowsOf(db, threadId), [1, 1, 1])
  const [after] = await findCheckpoints(db, { threadId, checkpointNs: "", limit: 1 })
  assert.deepEqual({ ...after, parentCheckpointId: undefined }, { ...before[0], parentCheckpointId: undefined })
})

test("a long thread is copied in portions of one snapshot, and is no thread until it is whole", async () => {
  await using db = await serverDatabase()
  const threadId = await longThread(db)
  const [copyId, lostId] = [randomUUID(), randomUUID()]

  const insertCopy = await copyCheckpoints(db, threadId, copyId)
  const early = await findThread(db, copyId)
  const copy = await insertCopy?.(db, '{"name":"copy"}')
  await copyCheckpoints(db, threadId, lostId)
  await db.run(sql`update removed_threads set not_before = now()`)
  while (await removePortion(db));

  assert.equal(early, undefined)
  assert.deepEqual([copy?.thread_id, copy?.metadata], [copyId, '{"name":"copy"}'])
  assert.deepEqual(await rowsOf(db, copyId), [steps, steps, steps])
  assert.deepEqual(await rowsOf(db, lostId), [0, 0, 0])
  const [original, copied] = await Promise.all([threadId, copyId].map((id) => findCheckpoints(db, { threadId: id })))
  const withoutThread = (found: typeof original) => found?.map(({ metadata, ...rest }) => rest)
  assert.deepEqual(withoutThread(copied), withoutThread(original))
})

test("copies that last leave connections to other requests", async () => {
  await using db = await serverDatabase()
  const requests = openDatabase({ uri: db.uri, poolSize: 3, log: silent })
  const threadId = randomUUID()
  await insertThread(db, threadId, "{}")
  const copyIds = [1, 2, 3, 4].map(() => randomUUID())

  const { copies, read } = await db.transaction(async (tx) => {
    await tx.run(sql`lock table checkpoints in access exclusive mode`)
    const copies = Promise.all(copyIds.map((id) => copyCheckpoints(requests, threadId, id)))
    await untilBlocked(db, 2)
    return { copies, read: await findThread(requests, threadId) }
  })

  assert.equal(read?.thread_id, threadId)
  assert.equal((await copies).filter((insertCopy) => insertCopy !== undefined).length, 4)
  await requests.close()
})
