/** T5: for a caller, another user's threads do not exist (agent-server-api §12.3). */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import type { Caller } from "../auth/caller.js"
import { migrations, startTestServer } from "../testing/test-server.js"
import {
  copyThread,
  countThreads,
  createThread,
  deleteThread,
  getThread,
  pruneThreads,
  searchThreads,
  storageOf,
  updateThread,
} from "./operations.js"
import { getThreadHistory, getThreadState, newestState, updateThreadState } from "./state-operations.js"

/** The most common rule: users own what they create and see nothing else. */
const userOf = (owner: string, events: string[] = []): Caller => ({
  user: { identity: owner, display_name: owner, is_authenticated: true, permissions: [] },
  authorize: async (event, value) => {
    events.push(event)
    const metadata = "metadata" in value ? { metadata: { ...Object(value.metadata), owner } } : {}
    const isSearch = event.endsWith(":search")
    return { value: { ...value, ...(isSearch ? {} : metadata) }, filter: { owner } }
  },
})

const request = { threadId: undefined, metadata: { name: "a", graph_id: "agent" }, ifExists: "raise" } as const
const everything = { ids: undefined, metadata: undefined, values: undefined, status: undefined }
const search = {
  ...everything,
  order: { sortBy: "updated_at", sortOrder: "desc" },
  page: { limit: 10, offset: 0 },
  withValues: true,
} as const

const rows = (db: Database) => db.rows(sql`select * from threads`)

test("T5: another user's thread does not exist for any operation, and does not change", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const bob = userOf("bob")
  const { thread_id: id, metadata } = await createThread(db, userOf("ann"), request)
  const before = await rows(db)
  assert.deepEqual(JSON.parse(metadata), { name: "a", graph_id: "agent", owner: "ann" })

  const place = { ...newestState, subgraphs: false, select: undefined }
  const history = { ...newestState, limit: 1, before: undefined, filter: undefined, select: undefined }
  const update = { ...newestState, supersteps: [{ updates: [{ values: {} }] }] }
  await assert.rejects(getThread(db, bob, id), NotFound)
  await assert.rejects(updateThread(db, bob, id, { metadata: { name: "b" } }), NotFound)
  await assert.rejects(deleteThread(server, bob, id), NotFound)
  await assert.rejects(storageOf(db, bob, id), NotFound)
  await assert.rejects(getThreadState(server, bob, id, place), NotFound)
  await assert.rejects(getThreadHistory(server, bob, id, history), NotFound)
  await assert.rejects(updateThreadState(server, bob, id, update), NotFound)
  await assert.rejects(copyThread(db, bob, id), Conflict)
  await assert.rejects(createThread(db, bob, { ...request, threadId: id, ifExists: "do_nothing" }), Conflict)
  assert.equal(await pruneThreads(server, bob, { threadIds: [id], strategy: "delete" }), 0)
  assert.equal(await pruneThreads(server, bob, { threadIds: [id], strategy: "keep_latest" }), 0)
  assert.deepEqual(await searchThreads(db, bob, search), { threads: [], total: 0 })
  assert.equal(await countThreads(db, bob, everything), 0)
  assert.deepEqual(await rows(db), before)
})

test("T5: each operation is authorized once with its event, and stores the rule's metadata", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const events: string[] = []
  const ann = userOf("ann", events)

  const { thread_id: id } = await createThread(db, ann, request)
  const copy = await copyThread(db, ann, id)
  const changed = await updateThread(db, ann, id, { metadata: { owner: "bob" } })
  const found = await searchThreads(db, ann, search)
  await countThreads(db, ann, everything)
  await getThread(db, ann, id)
  await deleteThread(server, ann, id)

  assert.deepEqual(events, [
    "threads:create",
    "threads:read",
    "threads:create",
    "threads:update",
    "threads:search",
    "threads:search",
    "threads:read",
    "threads:delete",
  ])
  assert.equal(JSON.parse(copy.metadata).owner, "ann")
  assert.equal(JSON.parse(changed.metadata).owner, "ann")
  assert.equal(found.total, 2)
})
