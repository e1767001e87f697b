/** Joining a run at the moment when it ends, or after its server died at that moment (B3). */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { anyone } from "../auth/caller.js"
import { appendLateEvents, pageOfRun } from "../events/queries.js"
import { Streams } from "../events/streams.js"
import { AfterStatement } from "../testing/after-statement.js"
import { addRun, attemptOf } from "../testing/as-anyone.js"
import { freshHttp, startTestHttp } from "../testing/test-http.js"
import { freshServer, Listening, serverDatabase, startTestServer, type TestServer } from "../testing/test-server.js"
import { newThread } from "../testing/thread-streams.js"
import { joinRun, waitForEnd } from "./operations.js"

/** An ended resumable run with these events in its log. */
async function addEndedRun(db: Db, events: readonly string[]) {
  const [threadId, runId] = [randomUUID(), randomUUID()]
  await db.run(sql`insert into threads (thread_id) values (${threadId})`)
  await db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, error, metadata, kwargs, multitask_strategy, attempt,
      is_resumable)
    values (${runId}, ${threadId}, ${randomUUID()}, 'agent', 'error', '{"error":"Oops"}', '{}', '{}', 'enqueue', 1, true)`)
  const log = events.map((event, seq) => ({ runId, seq, event, data: "{}" }))
  await appendLateEvents(db, runId, log)
  return { threadId, runId }
}

/** Joins at a server that never sweeps. */
async function join(server: TestServer, run: { threadId: string; runId: string }, after: number) {
  const streams = new Streams({ db: server.db, hints: server.hints, log: server.log, serverId: randomUUID() })
  await streams.start()
  const client = new Listening()
  await joinRun({ ...server, streams }, { caller: anyone, ...run, subscriber: client, after })
  await until(() => client.hasEnded, { what: "the stream ends" })
  await streams.close()
  return client.events.map(({ event, data }) => [event, data])
}

test("when a server died before it logged a run's end, a joining client causes the end to be logged for all clients", async () => {
  await using server = await freshServer()
  const run = await addEndedRun(server.db, ["metadata", "values"])

  const first = await join(server, run, -1)
  const second = await join(server, run, 1)

  const last = [
    ["error", { error: "Oops" }],
    ["end", { run_id: run.runId, status: "error" }],
  ]
  assert.deepEqual(first, [["metadata", {}], ["values", {}], ...last])
  assert.deepEqual(second, last)
})

test("a client that rejoins after the log was deleted is notified that it missed events", async () => {
  await using server = await freshServer()
  const run = await addEndedRun(server.db, [])

  const events = await join(server, run, 7)

  assert.deepEqual(events, [
    ["metadata", { run_id: run.runId, attempt: 1, missed: true }],
    ["end", { run_id: run.runId, status: "error" }],
  ])
})

/** Makes Postgres reject a final status without the end in the run's log, which a crash between two commits would leave. */
const requireLoggedEnd = async (db: Db) => {
  await db.run(sql`
    create function require_end() returns trigger language plpgsql as $$
    begin
      if not exists (select from run_events e where e.run_id = new.run_id and e.event = 'end') then
        raise 'run % is over, and its end is not logged', new.run_id;
      end if;
      return null;
    end
    $$`)
  await db.run(sql`
    create constraint trigger end_is_logged after update of status on runs deferrable initially deferred
    for each row when (new.status not in ('pending', 'running')) execute function require_end()`)
}

async function startFailingRun(server: TestServer, options: object) {
  const client = new Listening()
  const added = await addRun(server, { subscriber: client, ...options })
  const run = await attemptOf(server, added.runId)
  const fail = () => run.done({ status: "error", error: { error: "Oops", message: "it broke" } })
  return { ...added, run, client, fail }
}

test("the last events of a resumable run are committed with its status (B3)", async () => {
  await using server = await freshServer()
  await requireLoggedEnd(server.db)

  const { runId, client, fail } = await startFailingRun(server, { stream_resumable: true })
  fail()
  await until(() => client.hasEnded, { what: "the stream ends" })

  const live = client.events.map(({ id, event }) => `${id} ${event}`)
  const logged = (await pageOfRun(server.db, runId, -1)).events.map(({ seq, event }) => `${seq} ${event}`)
  assert.deepEqual(live, logged)
  assert.deepEqual(live.slice(1), ["1 error", "2 end"])
  assert.deepEqual(client.events.at(-1)?.data, { run_id: runId, status: "error", input_saved: false })
})

test("the last events of a run that a client follows at another server are committed with its status (B3)", async () => {
  await using db = await serverDatabase()
  await using server = await startTestServer(db)
  await using other = await startTestServer(db, { slots: 0 })
  await requireLoggedEnd(db)
  const { threadId, runId, run, fail } = await startFailingRun(server, {})
  const client = new Listening()
  await joinRun(other, { caller: anyone, threadId, runId, subscriber: client, after: undefined })
  const isFollowed = () => {
    run.emit("custom", 1)
    return client.events.length > 0
  }
  await until(isFollowed, { what: "the other server follows" })

  fail()
  await until(() => client.hasEnded, { what: "the stream ends" })

  assert.deepEqual(fieldsOf(client.events.slice(-2), "event"), ["error", "end"])
})

test("clients of other servers get the end of a run whose server died before it announced the end (B3)", async () => {
  await using db = await serverDatabase()
  await using owner = await startTestServer(db)
  await using other = await startTestServer(db, { slots: 0 })
  const { threadId, runId } = await addRun(owner)
  const client = new Listening()
  await joinRun(other, { caller: anyone, threadId, runId, subscriber: client, after: undefined })
  const waiting = waitForEnd(other, runId)

  await owner.crash()
  // The effect of a Postgres session whose client died after sending the end.
  await db.run(sql`
    update runs set status = 'success', claim_id = null, claimed_by = null, lease_until = null where run_id = ${runId}`)
  await until(() => client.hasEnded, { what: "the end of the stream" })
  await waiting

  assert.deepEqual(client.events.at(-1)?.data, { run_id: runId, status: "success" })
  assert.deepEqual(fieldsOf(other.streams.runs.tailed(), "id"), [])
})

test("who has left before it could wait for the end of a run waits for nothing", { timeout: 60_000 }, async () => {
  await using server = await freshServer()
  const { runId } = await addRun(server)

  await waitForEnd(server, runId, AbortSignal.abort())

  assert.equal(server.streams.runs.size, 0)
})

test("a run that is removed while a client joins it is not found, and run_gone for its repeated request", async () => {
  const between = new AfterStatement()
  await using http = await freshHttp({ graphs: ["agent"], slots: 0, wrapDb: between.database })
  // Its statements are not those of the repeated request.
  await using first = await startTestHttp(http.db, { graphs: ["agent"], slots: 0 })
  const runs = `/threads/${await newThread(http)}/runs`
  const asked = { assistant_id: "agent", input: { n: 1 }, stream_resumable: true }
  const findsRun = /select run_id, thread_id, assistant_id, status, attempt, metadata/
  const removing = (runId: unknown) => async () => {
    await http.db.run(sql`delete from run_events where run_id = ${runId}`)
    await http.db.run(sql`delete from runs where run_id = ${runId}`)
  }
  const statuses: unknown[] = []

  for (const [end, headers] of [
    ["join", {}],
    ["stream", {}],
    ["stream", { "last-event-id": "0" }],
  ] as const) {
    const { run_id: runId } = (await http.send("POST", runs, asked)).json as { run_id: string }
    between.after(findsRun, removing(runId))
    statuses.push((await http.send("GET", `${runs}/${runId}/${end}`, undefined, headers)).status)
  }
  for (const end of ["wait", "stream"]) {
    const key = { "idempotency-key": randomUUID() }
    const stream = await first.stream("POST", `${runs}/${end}`, asked, key)
    stream.leave()
    const [run] = await http.db.rows<{ run_id: string }>(sql`select run_id from runs`)
    between.after(findsRun, removing(run?.run_id))
    const again = await http.send("POST", `${runs}/${end}`, asked, key)
    statuses.push([again.status, (again.json as { code: string }).code])
  }

  assert.deepEqual(statuses, [404, 404, 404, [409, "run_gone"], [409, "run_gone"]])
  assert.ok(between.isDone)
})
