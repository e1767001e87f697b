/** T5: for a caller, another user's threads do not exist (agent-server-api §12.3). */

import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import type { Caller } from "../auth/caller.js"
import { copyThread, createThread } from "../testing/creations.js"
import { freshServer } from "../testing/test-server.js"
import {
  countThreads,
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

const request = { metadata: { name: "a", graph_id: "agent" } }
const everything = { ids: undefined, metadata: undefined, values: undefined, status: undefined }
const search = {
  ...everything,
  order: { sortBy: "updated_at", sortOrder: "desc" },
  page: { limit: 10, offset: 0 },
  withValues: true,
} as const

const rows = (db: Database) => db.rows(sql`select * from threads`)

test("T5: another user's thread does not exist for any operation, and does not change", async () => {
  await using server = await freshServer()
  const bob = userOf("bob")
  const { thread_id: id, metadata } = await createThread(server.db, request, userOf("ann"))
  const before = await rows(server.db)
  assert.deepEqual(JSON.parse(metadata), { name: "a", graph_id: "agent", owner: "ann" })

  const place = { ...newestState, subgraphs: false, select: undefined }
  const history = { ...newestState, limit: 1, before: undefined, filter: undefined, select: undefined }
  const update = { ...newestState, supersteps: [{ updates: [{ values: {} }] }] }
  await assert.rejects(getThread(server.db, bob, id), NotFound)
  await assert.rejects(updateThread(server.db, bob, id, { metadata: { name: "b" } }), NotFound)
  await assert.rejects(deleteThread(server, bob, id), NotFound)
  await assert.rejects(storageOf(server.db, bob, id), NotFound)
  await assert.rejects(getThreadState(server, bob, id, place), NotFound)
  await assert.rejects(getThreadHistory(server, bob, id, history), NotFound)
  await assert.rejects(updateThreadState(server, bob, id, update), NotFound)
  await assert.rejects(copyThread(server.db, id, bob), Conflict)
  await assert.rejects(createThread(server.db, { ...request, threadId: id, ifExists: "do_nothing" }, bob), Conflict)
  assert.equal(await pruneThreads(server, bob, { threadIds: [id], strategy: "delete" }), 0)
  assert.equal(await pruneThreads(server, bob, { threadIds: [id], strategy: "keep_latest" }), 0)
  assert.deepEqual(await searchThreads(server.db, bob, search), { threads: [], total: 0 })
  assert.equal(await countThreads(server.db, bob, everything), 0)
  assert.deepEqual(await rows(server.db), before)
})

test("T5: each operation is authorized once with its event, and stores the rule's metadata", async () => {
  await using server = await freshServer()
  const events: string[] = []
  const ann = userOf("ann", events)

  const { thread_id: id } = await createThread(server.db, request, ann)
  const copy = await copyThread(server.db, id, ann)
  const changed = await updateThread(server.db, ann, id, { metadata: { owner: "bob" } })
  const found = await searchThreads(server.db, ann, search)
  await countThreads(server.db, ann, everything)
  await getThread(server.db, ann, id)
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
