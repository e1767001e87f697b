/** The regular sweep of the log, for events whose hint was lost (B8). */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { type TestContext, test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { Hints } from "@superstep/toolkit/db/hints"
import { createLog } from "@superstep/toolkit/log/log"
import { until } from "@superstep/toolkit/testing/until"
import { Listening, serverDatabase } from "../testing/test-server.js"
import { appendLateEvents } from "./queries.js"
import { Streams } from "./streams.js"

const sweepMs = 1_000

/** Streams that sweep when the test requests it, with a client that follows a run of another server. */
async function followRun(t: TestContext, db: Database) {
  t.mock.timers.enable({ apis: ["setInterval"] })
  const log = createLog({ process: "server", level: "silent" })
  const streams = new Streams({ db, hints: new Hints({ db, log }), log, serverId: randomUUID(), sweepMs })
  await streams.start()
  const [runId, client] = [randomUUID(), new Listening()]
  streams.runs.subscribe(runId, client)
  await streams.runs.tail(runId)
  return { streams, client, runId, look: () => t.mock.timers.tick(sweepMs) }
}

test("an event whose hint was lost is found by the regular sweep (B8)", async (t) => {
  await using db = await serverDatabase()
  const { streams, client, runId, look } = await followRun(t, db)

  await appendLateEvents(db, runId, [{ runId, seq: 0, event: "metadata", data: "{}" }])
  look()
  await until(() => client.events.length > 0, { what: "the event" })

  assert.deepEqual(client.names, ["metadata"])
  await streams.close()
})
