/** T4: expired threads, by the database's clock. The tests move `expires_at`, not a clock. */

import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { createLog } from "@superstep/toolkit/log/log"
import { v7 as uuidv7 } from "uuid"
import { anyone } from "../auth/caller.js"
import { putCheckpoint } from "../checkpoints/queries.js"
import { checkpoint } from "../checkpoints/testing/claimed-runs.js"
import { addRun, createRun } from "../testing/as-anyone.js"
import { createThread } from "../testing/creations.js"
import { body } from "../testing/revisions.js"
import { serverDatabase, startTestServer } from "../testing/test-server.js"
import { updateThread } from "./operations.js"
import { findThread, findTtl } from "./queries.js"
import { defaultTtlOf, threadSweep } from "./sweep.js"
import { setDefaultTtl } from "./sweep-queries.js"

const newThread = async (db: Database, strategy: "delete" | "keep_latest" = "delete") =>
  (await createThread(db, { ttl: { minutes: 10, strategy } })).thread_id

const expire = (db: Database, ...threadIds: string[]) =>
  db.run(sql`
    update thread_ttls set expires_at = expires_at - interval '10 minutes 1 second' where thread_id = any (${threadIds}::uuid[])`)

const exists = async (db: Database, threadId: string) => (await findThread(db, threadId)) !== undefined

/** Sweeps as a server does. @returns  what it logged */
async function sweepThreads(db: Database, limit: number) {
  let swept = { deleted: 0, pruned: 0 }
  const write = (line: string) => {
    const { deleted, pruned } = JSON.parse(line)
    swept = { deleted, pruned }
  }
  const { step } = threadSweep(db, { sweep_limit: limit }, createLog({ process: "test", level: "info" }, { write }))
  while (await step());
  return swept
}

test("T4: a thread is deleted when it expires, not before, and not when its time to live was restarted", async () => {
  await using db = await serverDatabase()
  const [early, over, restarted] = [await newThread(db), await newThread(db), await newThread(db)]
  await expire(db, over, restarted)
  await updateThread(db, anyone, restarted, { ttl: { minutes: 1, strategy: "delete" } })
  const forGood = await createThread(db)

  const swept = await sweepThreads(db, 10)

  assert.deepEqual(swept, { deleted: 1, pruned: 0 })
  assert.equal(await exists(db, over), false)
  for (const kept of [early, restarted, forGood.thread_id]) assert.equal(await exists(db, kept), true)
  assert.equal(await findTtl(db, forGood.thread_id), undefined)
})

test("T4: a thread with a run that is pending or running is not swept until the run has ended", async () => {
  await using db = await serverDatabase()
  await using server = await startTestServer(db)
  const [running, pending] = [await newThread(db), await newThread(db, "keep_latest")]
  const { runId } = await addRun(server, { on: running })
  await addRun(server, { on: pending, after_seconds: 1000 })
  await expire(db, running, pending)

  const before = await sweepThreads(db, 10)
  server.workers.running.get(runId)?.done()
  await server[Symbol.asyncDispose]()
  const after = await sweepThreads(db, 10)

  assert.deepEqual(before, { deleted: 0, pruned: 0 })
  assert.deepEqual(after, { deleted: 1, pruned: 0 })
  assert.deepEqual([await exists(db, running), await exists(db, pending)], [false, true])
})

test("T4: when several servers sweep at once, each thread is swept by one of them, and a sweep has a limit", async () => {
  await using db = await serverDatabase()
  const threadIds: string[] = []
  for (let n = 0; n < 12; n++) threadIds.push(await newThread(db))
  await expire(db, ...threadIds)

  const limited = await sweepThreads(db, 2)
  const together = await Promise.all([sweepThreads(db, 100), sweepThreads(db, 100), sweepThreads(db, 100)])
  const rest = await sweepThreads(db, 100)

  const total = [limited, ...together, rest].reduce((sum, { deleted }) => sum + deleted, 0)
  assert.deepEqual([limited.deleted, total], [2, 12])
  const left = sql`select (select count(*) from threads) + (select count(*) from thread_ttls) as n`
  assert.deepEqual(await db.row(left), { n: 0 })
})

test("T4: a server that stops during a sweep waits for one thread only", async () => {
  await using db = await serverDatabase()
  const threadIds = [await newThread(db), await newThread(db), await newThread(db)]
  await expire(db, ...threadIds)
  const { step } = threadSweep(db, {}, createLog({ process: "test", level: "silent" }))

  const hasMore = await step()

  assert.equal(hasMore, true)
  assert.deepEqual(await db.row(sql`select count(*) as n from threads`), { n: 2 })
})

test("with keep_latest a thread keeps its newest checkpoint, and its time to live restarts", async () => {
  await using db = await serverDatabase()
  const threadId = await newThread(db, "keep_latest")
  for (const id of ["1", "2", "3"]) await putCheckpoint(db, undefined, checkpoint({ threadId }, id))
  const first = await findTtl(db, threadId)
  await expire(db, threadId)

  const swept = await sweepThreads(db, 10)

  assert.deepEqual(swept, { deleted: 0, pruned: 1 })
  const rows = await db.rows(sql`select checkpoint_id from checkpoints where thread_id = ${threadId}`)
  assert.deepEqual(rows, [{ checkpoint_id: "3" }])
  const next = await findTtl(db, threadId)
  assert.ok(first && next && next.expires_at >= first.expires_at)
})

test("the project's default time to live applies to every new thread without its own, also to threads that runs create", async () => {
  await using db = await serverDatabase()
  await using server = await startTestServer(db)
  const old = await createThread(db)
  await setDefaultTtl(db, defaultTtlOf({ strategy: "keep_latest", default_ttl: 30 }))

  const plain = await createThread(db)
  const own = await newThread(db)
  const { threadId: ofRun } = await addRun(server, { on: uuidv7(), if_not_exists: "create" })
  const stateless = await createRun(server, { threadId: undefined, body: body() })

  const minutesOf = async (threadId: string) => (await findTtl(db, threadId))?.ttl_minutes
  const minutes = await Promise.all([old.thread_id, plain.thread_id, own, ofRun].map(minutesOf))
  assert.deepEqual(minutes, [undefined, 30, 10, 30])
  assert.equal(await minutesOf(stateless.thread_id), undefined)
  await setDefaultTtl(db, defaultTtlOf(undefined))
  assert.equal(await minutesOf((await createThread(db)).thread_id), undefined)
})
