/** T5: for a caller, another user's threads do not exist (agent-server-api §12.3). */

import assert from "node:assert/strict"
import { test } from "node:test"
import { NotFound } from "@superstep/toolkit/errors/errors"
import { ownerOf } from "../testing/callers.js"
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

const request = { metadata: { name: "a", graph_id: "agent" } }
const everything = { ids: undefined, metadata: undefined, values: undefined, status: undefined }
const search = {
  ...everything,
  order: { sortBy: "updated_at", sortOrder: "desc" },
  page: { limit: 10, offset: 0 },
  withValues: true,
} as const

test("T5: each operation is authorized once with its event, stores the rule's metadata, and finds nothing of others", async () => {
  await using server = await freshServer()
  const events: string[] = []
  const [ann, bob] = [ownerOf("ann", events), ownerOf("bob")]

  const { thread_id: id } = await createThread(server.db, request, ann)
  const copy = await copyThread(server.db, id, ann)
  const changed = await updateThread(server.db, ann, id, { metadata: { owner: "bob" } })
  const found = await searchThreads(server.db, ann, search)
  await countThreads(server.db, ann, everything)
  const ofBob = await searchThreads(server.db, bob, search)
  const pruned = await pruneThreads(server, bob, { threadIds: [id], strategy: "delete" })
  const count = await countThreads(server.db, bob, everything)
  await assert.rejects(storageOf(server.db, bob, id), NotFound)
  await getThread(server.db, ann, id)
  await deleteThread(server, ann, id)

  const actions = ["create", "read", "create", "update", "search", "search", "read", "delete"]
  const expected = actions.map((action) => `threads:${action}`)
  assert.deepEqual(events, expected)
  assert.equal(JSON.parse(copy.metadata).owner, "ann")
  assert.equal(JSON.parse(changed.metadata).owner, "ann")
  assert.deepEqual([found.total, ofBob.total, pruned, count], [2, 0, 0, 0])
})
