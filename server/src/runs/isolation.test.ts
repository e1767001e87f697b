/** Which runs lose an attempt when a worker dies, which execute alone, and which exceed their time limit. */

import assert from "node:assert/strict"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { anyone } from "../auth/caller.js"
import { addRun, attemptOf, getRun, waitForEnd } from "../testing/as-anyone.js"
import { freshServer, Listening } from "../testing/test-server.js"
import { getThread } from "../threads/operations.js"
import { outcomeOf, timedOut } from "./run.js"

const countsOf = (db: Db, runId: string) =>
  db.row<{ status: string; attempt: number }>(
    sql`select status, attempt, losses, runs_alone from runs where run_id = ${runId}`,
  )

const cancelled = { status: "cancelled", error: undefined, next: [], values: "{}", interrupts: "{}" } as const

test("R5: a run that blocks its worker twice with nothing else in it is lost, and says what to do", async () => {
  await using server = await freshServer()
  const { runId, threadId } = await addRun(server)

  for (const n of [1, 2]) (await attemptOf(server, runId, n)).block()
  await waitForEnd(server, runId)

  const { error, status } = await getRun(server, { threadId, runId })
  assert.deepEqual([status, JSON.parse(error ?? "null").error], ["error", "WorkerLost"])
  assert.match(error ?? "", /SUPERSTEP_WORKER_STALLED_SECONDS/)
  assert.deepEqual(await countsOf(server.db, runId), { status: "error", attempt: 2, losses: 2, runs_alone: true })
})

test("R9: runs that must execute alone wait for a free slot in the queue, and delay no other run", async () => {
  await using server = await freshServer()
  const suspects = [await addRun(server), await addRun(server), await addRun(server)]
  for (const { runId } of suspects) (await attemptOf(server, runId)).die(false)
  const startedAgain = () => server.workers.started.filter(({ order }) => order.attempt === 2)
  await until(() => startedAgain().length === 2, { what: "two of the runs start" })
  const again = startedAgain()
  const third = suspects.map(({ runId }) => runId).find((id) => !again.some(({ order }) => order.runId === id)) ?? ""

  const other = await addRun(server)
  ;(await attemptOf(server, other.runId)).done()
  await waitForEnd(server, other.runId)

  const counts = { status: "pending", attempt: 1, losses: 0, runs_alone: true }
  assert.deepEqual(
    await countsOf(server.db, third),
    counts,
    "a worker that died with several runs costs none an attempt",
  )
  again[0]?.done()
  ;(await attemptOf(server, third, 2)).done()
})

test("R10: a run that exceeds its time limit is stopped and ends as timeout, with its progress", async () => {
  await using server = await freshServer({ runTimeoutMs: 50 })
  const client = new Listening()

  const { runId, threadId } = await addRun(server, { subscriber: client })
  await until(() => client.hasEnded, { what: "the end of the stream" })

  const { status, error } = await getRun(server, { threadId, runId })
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

  const { runId, threadId } = await addRun(server)
  const execution = await attemptOf(server, runId)
  await waitForEnd(server, runId)
  execution.done()

  assert.equal((await getRun(server, { threadId, runId })).status, "timeout")
  assert.equal(execution.isCancelled, true)
  assert.deepEqual(server.workers.givenUp, [execution.order.claimId])
})

test("a run that has moved on and does not stop gives its slot back", async () => {
  await using server = await freshServer({ slots: 1, stopGraceMs: 50 })
  server.workers.ignoresCancel = true
  const { runId } = await addRun(server)
  const execution = await attemptOf(server, runId)

  await server.db.run(sql`
    update runs set status = 'pending', claim_id = null, claimed_by = null, lease_until = null where run_id = ${runId}`)
  await server.executor.renew()
  ;(await attemptOf(server, runId, 2)).done()
  await waitForEnd(server, runId)

  assert.deepEqual(server.workers.givenUp, [execution.order.claimId])
})

test("R10: a run whose worker dies after the time limit is not attempted again", async () => {
  await using server = await freshServer({ runTimeoutMs: 50, stopGraceMs: 60_000 })
  server.workers.ignoresCancel = true
  const { runId, threadId } = await addRun(server)
  const execution = await attemptOf(server, runId)

  await until(() => execution.isCancelled, { what: "its time limit to pass" })
  execution.die(false)
  await waitForEnd(server, runId)

  assert.equal((await getRun(server, { threadId, runId })).status, "timeout")
  assert.equal(server.workers.started.length, 1)
})

test("R10: a run that ended just at its time limit keeps its own status", () => {
  const success = { ...cancelled, status: "success" } as const

  assert.equal(timedOut(success, 1000), success)
  assert.equal(timedOut(cancelled, 1000).values, "{}")
  assert.deepEqual(outcomeOf(timedOut(cancelled, 1000)), { runStatus: "timeout", threadStatus: "error" })
})
