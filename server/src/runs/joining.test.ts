/** Coming back to a run in the moment in which it ends at another server. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { anyone } from "../auth/caller.js"
import { appendEvents } from "../events/queries.js"
import { RunStreams } from "../events/run-streams.js"
import { Listening, migrations, startTestServer } from "../testing/test-server.js"
import { joinRun } from "./operations.js"

test("who reads the log of a run that is over waits for its last events, which are on their way", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  // Of its own, so that nothing ends what follows a run whose end is overdue.
  const streams = new RunStreams({ db, log: server.log, serverId: randomUUID() })
  await streams.start()
  const [threadId, runId] = [randomUUID(), randomUUID()]
  await db.run(sql`insert into threads (thread_id) values (${threadId})`)
  await db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, attempt,
      is_resumable)
    values (${runId}, ${threadId}, ${randomUUID()}, 'agent', 'error', '{}', '{}', 'enqueue', 1, true)`)
  await appendEvents(db, [{ runId, seq: 0, event: "metadata", data: "{}" }])
  const client = new Listening()

  await joinRun({ ...server, streams }, { caller: anyone, threadId, runId, subscriber: client, after: -1 })
  const before = [...client.names]
  await appendEvents(db, [
    { runId, seq: 1, event: "error", data: "{}" },
    { runId, seq: 2, event: "end", data: "{}" },
  ])
  await until(() => client.hasEnded, { what: "the stream ends" })

  assert.deepEqual(before, ["metadata"])
  assert.deepEqual(
    client.events.map(({ event, id }) => [event, id]),
    [
      ["metadata", "0"],
      ["error", "1"],
      ["end", "2"],
    ],
  )
  await streams.close()
})
