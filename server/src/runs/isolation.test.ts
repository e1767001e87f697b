/** Which runs lose an attempt when a worker dies, which execute alone, and which exceed their time limit. */

import assert from "node:assert/strict"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { anyone } from "../auth/caller.js"
import { newThread } from "../testing/creations.js"
import { freshServer, Listening, migrations, startTestServer, type TestServer } from "../testing/test-server.js"
import { getThread } from "../threads/operations.js"
import { createRun } from "./creation.js"
import { getRun, waitForEnd } from "./operations.js"
import { outcomeOf, timedOut } from "./run.js"
import { newRun } from "./schema.js"

const body = (fields: object = {}) => newRun.parse({ assistant_id: "agent", input: { n: 1 }, ...fields })

/** A run on its own thread. */
async function newRunOf(server: TestServer, subscriber?: Listening) {
  const threadId = await newThread(server)
  const { run_id: runId } = await createRun(server, {
    caller: anyone,
    threadId,
    body: body(),
    ...(subscriber && { subscriber }),
  })
  return { threadId, runId }
}

const attempt = (server: TestServer, runId: string, n: number) =>
  until(() => server.workers.started.find(({ order }) => order.runId === runId && order.attempt === n), {
    what: `attempt ${n} of run ${runId}`,
  })

const countsOf = (db: Db, runId: string) =>
  db.row<{ status: string; attempt: number }>(
    sql`select status, attempt, losses, runs_alone from runs where run_id = ${runId}`,
  )

const cancelled = { status: "cancelled", error: undefined, next: [], values: "{}", interrupts: "{}" } as const

test("R9: when a worker with several runs dies, the runs lose no attempt and execute alone", async () => {
  await using server = await freshServer()
  const runs = [await newRunOf(server), await newRunOf(server)]

  for (const { runId } of runs) (await attempt(server, runId, 1)).die(false)
  for (const { runId } of runs) {
    const second = await attempt(server, runId, 2)
    assert.equal(second.order.runsAlone, true)
    second.done()
    await waitForEnd(server, runId)
  }

  for (const { runId } of runs) {
    assert.deepEqual(await countsOf(server.db, runId), { status: "success", attempt: 2, losses: 0, runs_alone: true })
  }
})

test("R5: a run that blocks its worker twice with nothing else in it is lost, and says what to do", async () => {
  await using server = await freshServer()
  const { runId, threadId } = await newRunOf(server)

  for (const n of [1, 2]) (await attempt(server, runId, n)).block()
  await waitForEnd(server, runId)

  const { error, status } = await getRun(server, { caller: anyone, threadId, runId })
  assert.deepEqual([status, JSON.parse(error ?? "null").error], ["error", "WorkerLost"])
  assert.match(error ?? "", /SUPERSTEP_WORKER_STALLED_SECONDS/)
  assert.deepEqual(await countsOf(server.db, runId), { status: "error", attempt: 2, losses: 2, runs_alone: true })
})

test("R5, R9: a run that also ends its worker when it executes alone is lost after three such attempts", async () => {
  await using server = await freshServer()
  const { runId, threadId } = await newRunOf(server)
  ;(await attempt(server, runId, 1)).die(false)

  for (const n of [2, 3, 4]) (await attempt(server, runId, n)).die()
  await waitForEnd(server, runId)

  const { error } = await getRun(server, { caller: anyone, threadId: threadId, runId: runId })
  assert.equal(JSON.parse(error ?? "null").error, "WorkerLost")
  assert.equal((await countsOf(server.db, runId))?.attempt, 4)
})

test("R9: runs that must execute alone wait for a free slot in the queue, and delay no other run", async () => {
  await using server = await freshServer()
  const suspects = [await newRunOf(server), await newRunOf(server), await newRunOf(server)]
  for (const { runId } of suspects) (await attempt(server, runId, 1)).die(false)
  const again = await until(
    () => {
      const attempts = server.workers.started.filter(({ order }) => order.attempt === 2)
      return attempts.length === 2 && attempts
    },
    { what: "two of the runs to start" },
  )
  const third = suspects.map(({ runId }) => runId).find((id) => !again.some(({ order }) => order.runId === id)) ?? ""

  const other = await newRunOf(server)
  ;(await attempt(server, other.runId, 1)).done()
  await waitForEnd(server, other.runId)

  assert.equal((await countsOf(server.db, third))?.status, "pending")
  again[0]?.done()
  ;(await attempt(server, third, 2)).done()
})

test("R10: a run that exceeds its time limit is stopped and ends as timeout, with its progress", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db, { runTimeoutMs: 50 })
  const client = new Listening()

  const { runId, threadId } = await newRunOf(server, client)
  await until(() => client.hasEnded, { what: "the end of the stream" })

  const { status, error } = await getRun(server, { caller: anyone, threadId: threadId, runId: runId })
  const failure = {
    error: "RunTimeout",
    message: "the run took longer than 0.05 s, the limit of one attempt (BG_JOB_TIMEOUT_SECS)",
    doc_url: "docs/errors.md#runtimeout",
  }
  assert.equal(status, "timeout")
  assert.deepEqual(JSON.parse(error ?? "null"), failure)
  assert.equal((await getThread(server.db, anyone, threadId)).status, "error")
  assert.deepEqual(client.events.slice(-2), [
    { event: "error", data: failure, id: client.events.at(-2)?.id },
    { event: "end", data: { run_id: runId, status: "timeout", input_saved: false }, id: client.events.at(-1)?.id },
  ])
})

test("R10: a run that does not stop is ended without its worker, which is told to abandon it", async () => {
  await using server = await freshServer({ runTimeoutMs: 50, stopGraceMs: 50 })
  server.workers.ignoresCancel = true

  const { runId, threadId } = await newRunOf(server)
  const execution = await attempt(server, runId, 1)
  await waitForEnd(server, runId)
  execution.done()

  assert.equal((await getRun(server, { caller: anyone, threadId: threadId, runId: runId })).status, "timeout")
  assert.equal(execution.isCancelled, true)
  assert.deepEqual(server.workers.givenUp, [execution.order.claimId])
})

test("a run that has moved on and does not stop gives its slot back", async () => {
  await using server = await freshServer({ slots: 1, stopGraceMs: 50 })
  server.workers.ignoresCancel = true
  const { runId } = await newRunOf(server)
  const execution = await attempt(server, runId, 1)

  await server.db.run(sql`
    update runs set status = 'pending', claim_id = null, claimed_by = null, lease_until = null where run_id = ${runId}`)
  await server.executor.renew()
  const next = await attempt(server, runId, 2)
  next.done()
  await waitForEnd(server, runId)

  assert.deepEqual(server.workers.givenUp, [execution.order.claimId])
})

test("R10: a run whose worker dies after the time limit is not attempted again", async () => {
  await using server = await freshServer({ runTimeoutMs: 50, stopGraceMs: 60_000 })
  server.workers.ignoresCancel = true
  const { runId, threadId } = await newRunOf(server)
  const execution = await attempt(server, runId, 1)

  await until(() => execution.isCancelled, { what: "its time limit to pass" })
  execution.die(false)
  await waitForEnd(server, runId)

  assert.equal((await getRun(server, { caller: anyone, threadId: threadId, runId: runId })).status, "timeout")
  assert.equal(server.workers.started.length, 1)
})

test("R10: a run that ended just at its time limit keeps its own status", () => {
  const success = { ...cancelled, status: "success" } as const

  assert.equal(timedOut(success, 1000), success)
  assert.equal(timedOut(cancelled, 1000).values, "{}")
  assert.deepEqual(outcomeOf(timedOut(cancelled, 1000)), { runStatus: "timeout", threadStatus: "error" })
})
