/** Slow clients: which events they get, and how long a run waits for them (B5 to B7). */

import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { addRun, attemptOf, joinRun } from "../testing/as-anyone.js"
import type { ScriptedRun } from "../testing/scripted-workers.js"
import { freshServer, Listening, SlowListening, type TestServer } from "../testing/test-server.js"

/** A run with a client that stops reading after the first event, and one that reads. */
async function startRun(server: TestServer, fields: object = {}) {
  const [slow, quick] = [new SlowListening(), new Listening()]
  const { threadId, runId } = await addRun(server, { subscriber: slow, ...fields })
  await joinRun(server, { threadId, runId, subscriber: quick, after: -1 })
  const run = await attemptOf(server, runId)
  await until(() => slow.events.length > 0, { what: "the first event is there" })
  slow.stopReading()
  return { runId, run, slow, quick }
}

/**
 * Events published in one tick are sent at its end.
 * @returns the promise that the worker must wait for
 */
async function emit(run: ScriptedRun, n: number): Promise<{ wait: Promise<void> | undefined }> {
  const wait = run.emit("custom", n)
  await turn()
  return { wait }
}

const namesAndIds = ({ events }: Listening) => events.map(({ event, id }) => `${event} ${id}`)
const loggedEvents = async (db: Db, runId: string) =>
  (await db.row<{ n: number }>(sql`select count(*) as n from run_events where run_id = ${runId}`))?.n
const isOver = async (db: Db, runId: string) =>
  (await db.row<{ status: string }>(sql`select status from runs where run_id = ${runId}`))?.status === "success"

test("a run waits for a slow client without being logged (B6)", async () => {
  await using server = await freshServer({ slowReaderBudgetMs: 60_000 })
  const { runId, run, slow } = await startRun(server)

  const first = await emit(run, 1)
  const second = await emit(run, 2)
  slow.read()
  await second.wait
  const third = await emit(run, 3)
  run.done()
  await until(() => slow.hasEnded, { what: "the stream ends" })

  // The client counts as behind only after the first event is written.
  assert.deepEqual([first.wait, third.wait], [undefined, undefined])
  assert.ok(second.wait)
  assert.deepEqual(namesAndIds(slow), ["metadata 0", "custom 1", "custom 2", "custom 3", "end 4"])
  assert.equal(await loggedEvents(server.db, runId), 0)
})

test("a client that does not read delays its run only briefly, and reads the rest from the log (B6)", async () => {
  await using server = await freshServer({ slowReaderBudgetMs: 0 })
  const { runId, run, slow, quick } = await startRun(server)

  await emit(run, 1)
  const { wait } = await emit(run, 2)
  await wait
  const later = [await emit(run, 3), await emit(run, 4)]
  run.done()
  await until(() => quick.hasEnded, { what: "the other client has everything" })
  const whileItSlept = namesAndIds(slow)
  slow.read()
  await until(() => slow.hasEnded, { what: "the slow client has everything" })

  assert.deepEqual(later, [{ wait: undefined }, { wait: undefined }])
  assert.deepEqual(whileItSlept, ["metadata 0", "custom 1", "custom 2"])
  assert.deepEqual(namesAndIds(slow), ["metadata 0", "custom 1", "custom 2", "custom 3", "custom 4", "end 5"])
  assert.deepEqual(namesAndIds(quick).slice(-3), ["custom 3", "custom 4", "end 5"])
  assert.equal(await isOver(server.db, runId), true)
})

test("a resumable run does not wait for clients (B7)", async () => {
  await using server = await freshServer({ slowReaderBudgetMs: 60_000 })
  const { run, slow, quick } = await startRun(server, { stream_resumable: true })

  const waits = [await emit(run, 1), await emit(run, 2), await emit(run, 3)]
  run.done()
  await until(() => quick.hasEnded, { what: "the other client has everything" })
  slow.read()
  await until(() => slow.hasEnded, { what: "the slow client has everything" })

  assert.deepEqual(waits, [{ wait: undefined }, { wait: undefined }, { wait: undefined }])
  const all = ["metadata 0", "custom 1", "custom 2", "custom 3", "end 4"]
  assert.deepEqual([namesAndIds(slow), namesAndIds(quick)], [all, all])
})

test("an event of a resumable run reaches clients only when it can be read again (B5)", async () => {
  await using server = await freshServer()
  const resumable = await startRun(server, { stream_resumable: true })
  const plain = await startRun(server)
  const before = namesAndIds(resumable.quick)

  await server.db.transaction(async (tx) => {
    await tx.run(sql`lock table run_events in exclusive mode`)
    resumable.run.emit("custom", 1)
    plain.run.emit("custom", 1)
    await until(() => plain.quick.events.length > 0, { what: "the plain run's event is there" })
    assert.deepEqual(namesAndIds(resumable.quick), before)
  })
  await until(() => resumable.quick.events.length > before.length, { what: "the event is there" })

  assert.deepEqual(namesAndIds(resumable.quick), ["metadata 0", "custom 1"])
  for (const { run } of [resumable, plain]) run.done()
  await until(() => plain.quick.hasEnded && resumable.quick.hasEnded, { what: "the streams end" })
})
