/** Which paused threads count as orphans. With real graphs: tests/src/orphaned-threads.test.ts. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { newThread } from "../testing/creations.js"
import { freshServer } from "../testing/test-server.js"
import { WorkerCallFailed } from "../workers/pending-calls.js"
import { findOrphans } from "./orphans.js"

test("a paused thread is an orphan when its graph fails to read it, or has no next node for it", async () => {
  await using server = await freshServer()
  const threadIn = async (status = "interrupted") => {
    const id = await newThread(server, { metadata: { graph_id: "agent" } })
    await server.db.run(sql`update threads set status = ${status}, graph_id = 'agent' where thread_id = ${id}`)
    return id
  }
  const [fine, renamed, unreadable, unanswered] = [
    await threadIn(),
    await threadIn(),
    await threadIn(),
    await threadIn(),
  ]
  await threadIn("idle")
  const [answered, deleted, pinned] = [await threadIn(), await threadIn(), await threadIn()]
  await server.db.run(sql`update threads set revision_id = 'old' where thread_id = ${pinned}`)
  server.workers.answer = async (_, { thread_id: id }) => {
    if (id === answered) await server.db.run(sql`update threads set status = 'idle' where thread_id = ${answered}`)
    if (id === deleted) await server.db.run(sql`delete from threads where thread_id = ${deleted}`)
    if (id === unreadable) throw new WorkerCallFailed({ error: "Error", message: "no such channel" })
    if (id === unanswered) throw new Unavailable("the worker died")
    return { fields: {}, payload: [Buffer.from(JSON.stringify({ next: id === fine ? ["ask"] : [] }))] }
  }

  const { examples, ...found } = await findOrphans(server)

  assert.deepEqual(found, { checked: 3, orphaned: 2, is_complete: false })
  const reasons = Object.fromEntries(examples.map(({ thread_id, reason }) => [thread_id, reason]))
  assert.deepEqual(reasons, {
    [unreadable]: "the graph's code failed: Error: no such channel",
    [renamed]: "its graph has no node to go on with",
  })
})
