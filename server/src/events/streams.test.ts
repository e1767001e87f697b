/** The regular sweep of the logs, for events and deletions whose hint was lost (B8). */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { type TestContext, test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { Hints } from "@superstep/toolkit/db/hints"
import { sql } from "@superstep/toolkit/db/sql"
import { createLog } from "@superstep/toolkit/log/log"
import { until } from "@superstep/toolkit/testing/until"
import { Listening, serverDatabase } from "../testing/test-server.js"
import { appendLateEvents } from "./queries.js"
import { Streams } from "./streams.js"

const sweepMs = 1_000

/** Streams that sweep when the test requests it. */
async function sweepingStreams(t: TestContext, db: Database) {
  t.mock.timers.enable({ apis: ["setInterval"] })
  const log = createLog({ process: "server", level: "silent" })
  const streams = new Streams({ db, hints: new Hints({ db, log }), log, serverId: randomUUID(), sweepMs })
  await streams.start()
  return { streams, look: () => t.mock.timers.tick(sweepMs) }
}

/** With a client that follows a run of another server. */
async function followRun(t: TestContext, db: Database) {
  const { streams, look } = await sweepingStreams(t, db)
  const [runId, client] = [randomUUID(), new Listening()]
  streams.runs.subscribe(runId, client)
  await streams.runs.tail(runId)
  return { streams, client, runId, look }
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

test("the streams of a thread whose deletion was not announced are ended by the regular sweep (B8)", async (t) => {
  await using db = await serverDatabase()
  const { streams, look } = await sweepingStreams(t, db)
  const [threadId, other] = [randomUUID(), randomUUID()]
  for (const id of [threadId, other]) await db.run(sql`insert into threads (thread_id) values (${id})`)
  const clients = [new Listening(), new Listening(), new Listening()] as const
  const [first, second, third] = clients
  for (const [topics, id, client] of [
    [streams.threads, threadId, first],
    [streams.protocol, threadId, second],
    [streams.threads, other, third],
  ] as const) {
    topics.subscribe(id, client)
    await topics.tail(id)
  }

  await db.run(sql`delete from threads where thread_id = ${threadId}`)
  look()
  await until(() => first.hasEnded && second.hasEnded, { what: "both streams have ended" })

  assert.equal(third.hasEnded, false)
  await streams.close()
})
