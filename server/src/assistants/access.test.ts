/** For a caller, another user's assistants do not exist (agent-server-api §12.3). */

import assert from "node:assert/strict"
import { test } from "node:test"
import { ownerOf } from "../testing/callers.js"
import { createAssistant, newThread } from "../testing/creations.js"
import { freshServer } from "../testing/test-server.js"
import { findThread } from "../threads/queries.js"
import { deleteAssistant } from "./delete-operations.js"
import { countAssistants, getAssistant, getVersions, prepareUpdate, searchAssistants, setLatest } from "./operations.js"
import { assistantPatch, assistantSearch, newAssistant } from "./schema.js"

const agent = newAssistant.parse({ graph_id: "agent" })
const everything = assistantSearch.parse({})

test("metadata that a rule adds is stored, and every operation is authorized once", async () => {
  await using server = await freshServer()
  const events: string[] = []
  const ann = ownerOf("ann", events)

  const { assistant_id: id, metadata } = await createAssistant(server, agent, ann)
  await getAssistant(server, ann, id)
  const update = await prepareUpdate(server, ann, id, assistantPatch.parse({ name: "x" }))
  await update(server.db)
  await setLatest(server, ann, id, 1)
  await getVersions(server, ann, id, { metadata: undefined, limit: 10, offset: 0 })
  const found = await searchAssistants(server, ann, everything)
  const count = await countAssistants(server, ann, {})
  await deleteAssistant(server, ann, id, { deleteThreads: false })

  assert.deepEqual(JSON.parse(metadata), { owner: "ann" })
  assert.deepEqual([found.rows.length, found.total, count], [1, 1, 1])
  const asked = ["create", "read", "update", "update", "read", "search", "search", "delete"]
  const expected = asked.map((action) => `assistants:${action}`)
  assert.deepEqual(events, expected)
})

test("deleting an assistant with its threads keeps other users' threads", async () => {
  await using server = await freshServer()
  const { assistant_id: id } = await createAssistant(server, agent, ownerOf("ann"))
  const addThread = (owner: string) => newThread(server, { metadata: { owner, assistant_id: id } })
  const [mine, theirs] = [await addThread("ann"), await addThread("bob")]

  await deleteAssistant(server, ownerOf("ann"), id, { deleteThreads: true })

  assert.equal(await findThread(server.db, mine), undefined)
  assert.notEqual(await findThread(server.db, theirs), undefined)
})
