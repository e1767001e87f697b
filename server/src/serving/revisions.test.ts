/** Servers of two revisions execute runs on one database: which revision executes which run (SV1 …). */

import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { claimRuns, releaseRun } from "../runs/claims.js"
import { showState } from "../runs/queries.js"
import { createRun, waitForEnd } from "../testing/as-anyone.js"
import { copyThread, newThread } from "../testing/creations.js"
import { activateOn, body, execute, executorOf, interrupted, pinOf, startTwo } from "../testing/revisions.js"
import { freshHttp } from "../testing/test-http.js"
import { freshServer, serverDatabase, startTestServer } from "../testing/test-server.js"
import { findVersion } from "../threads/queries.js"

test("a pinned thread's runs execute on its revision alone, whichever server creates them (SV4)", async () => {
  await using two = await startTwo("old", "next")
  const { db, servers } = two
  const [old, next] = servers
  const pinned = await newThread(old)
  await db.run(sql`update threads set revision_id = 'old' where thread_id = ${pinned}`)
  await activateOn(next)
  const free = await newThread(old)

  const revisions = []
  for (const at of [old, next, next, old]) {
    revisions.push([await execute(at, servers, pinned), await execute(at, servers, free), await execute(at, servers)])
  }

  const { thread_id: copy } = await copyThread(db, pinned)

  for (const each of revisions) assert.deepEqual(each, ["old", "next", "next"])
  assert.equal(await execute(next, servers, copy), "old", "a copy is pinned like the thread")
})

test("runs of a pinned thread wait while its revision has no server, and delay no other run (SV4)", async () => {
  await using db = await serverDatabase()
  await using next = await startTestServer(db, { revisionId: "next" })
  await activateOn(next)
  const pinned = await newThread(next)
  await db.run(sql`update threads set revision_id = 'old' where thread_id = ${pinned}`)

  const { run_id: waits } = await createRun(next, { threadId: pinned, body: body() })
  const other = await execute(next, [next], await newThread(next))
  const statusThen = await db.row(sql`select status from runs where run_id = ${waits}`)
  await using old = await startTestServer(db, { revisionId: "old" })
  const executor = await executorOf([old, next], waits)

  assert.equal(other, "next")
  assert.deepEqual(statusThen, { status: "pending" })
  assert.equal(executor, old)
})

test("with `paused`, interrupted and busy threads finish on their revision, then move to the active one (SV3)", async () => {
  await using two = await startTwo("old", "next")
  const { db, servers } = two
  const [old, next] = servers
  const [asking, busy, idle] = [await newThread(old), await newThread(old), await newThread(old)]
  await execute(old, servers, asking, interrupted)
  await execute(old, servers, idle)
  const first = await createRun(old, { threadId: busy, body: body() })
  const second = await createRun(old, { threadId: busy, body: body() })
  await executorOf(servers, first.run_id)

  await activateOn(next, { thread_pinning: "paused" })
  const pins = [await pinOf(db, asking), await pinOf(db, busy), await pinOf(db, idle)]
  old.workers.running.get(first.run_id)?.done()
  const executorOfSecond = await executorOf(servers, second.run_id)
  executorOfSecond.workers.running.get(second.run_id)?.done()
  await waitForEnd(old, second.run_id)
  const asked = [
    await execute(next, servers, asking, interrupted),
    await execute(next, servers, asking),
    await execute(next, servers, asking),
  ]

  assert.deepEqual(pins, ["old", "old", null])
  assert.equal(executorOfSecond, old)
  assert.deepEqual(asked, ["old", "old", "next"])
  assert.deepEqual([await execute(old, servers, busy), await execute(old, servers, idle)], ["next", "next"])
})

test("a paused thread becomes idle and unpinned when the run with its interrupt is deleted (SV3)", async () => {
  await using two = await startTwo("old", "next")
  const { db, servers } = two
  const [old, next] = servers
  const threadId = await newThread(old)
  await execute(old, servers, threadId, interrupted)
  await activateOn(next, { thread_pinning: "paused" })
  const pin = await pinOf(db, threadId)

  const version = (await findVersion(db, threadId))?.version ?? ""
  await showState(db, threadId, { version, values: null, interrupts: "{}", status: "idle" })

  assert.deepEqual([pin, await pinOf(db, threadId)], ["old", null])
  assert.equal(await execute(next, servers, threadId), "next")
})

test("with `always`, a thread stays on the revision of its first run (SV3)", async () => {
  await using two = await startTwo("old", "next")
  const { servers } = two
  const [old, next] = servers
  await activateOn(old, { thread_pinning: "always" })
  const threadId = await newThread(old)
  const before = await execute(old, servers, threadId)

  await activateOn(next, { thread_pinning: "always" })
  const after = [await execute(next, servers, threadId), await execute(next, servers, await newThread(next))]

  assert.equal(before, "old")
  assert.deepEqual(after, ["old", "next"])
  assert.equal(await execute(old, servers), "next", "a stateless run has no thread to keep")
})

test("the active revision executes a run that waited for a revision that no longer serves (SV1)", async () => {
  await using db = await serverDatabase()
  await using old = await startTestServer(db, { revisionId: "old", slots: 0 })
  await using _canary = await startTestServer(db, { revisionId: "canary", slots: 0 })
  await activateOn(old)
  await activateOn(old, { canary: { revision_id: "canary", weight: 99 } })
  const runs: string[] = []
  for (let n = 0; n < 20; n++)
    runs.push((await createRun(old, { threadId: await newThread(old), body: body() })).run_id)

  await using next = await startTestServer(db, { revisionId: "next", slots: 30 })
  await activateOn(next)
  await until(() => runs.every((runId) => next.workers.running.has(runId)), { what: "all runs to start" })

  assert.equal(next.workers.started.length, runs.length)
})

test("a server without a revision claims every run, including pinned ones", async () => {
  await using db = await serverDatabase()
  await using alone = await startTestServer(db)
  const threadId = await newThread(alone)
  await db.run(sql`update threads set revision_id = 'gone' where thread_id = ${threadId}`)
  await using waiting = await startTestServer(db, { slots: 0, revisionId: "other" })

  const { run_id: direct } = await createRun(alone, { threadId, body: body() })
  const { run_id: queued } = await createRun(waiting, { threadId, body: body() })
  ;(await executorOf([alone], direct)).workers.running.get(direct)?.done()
  await executorOf([alone], queued)

  const claims = await claimRuns(db, waiting.claimer, { limit: 10, runsAlone: false })
  assert.deepEqual(claims, [])
})

test("pins to a revision are counted, and after unpinning the active revision executes the waiting runs (SV5)", async () => {
  await using http = await freshHttp({ unitToken: "sesame", revisionId: "next" })
  const token = { "x-superstep-unit": "sesame" }
  const ask = (method: string) => http.send(method, "/internal/pins/old", undefined, token)
  await http.send("POST", "/internal/activate", undefined, token)
  const threadId = await newThread(http.server)
  const resting = await newThread(http.server)
  await http.db.run(sql`update threads set revision_id = 'old' where thread_id = any(${[threadId, resting]})`)
  const quiet = (await ask("GET")).json

  const { run_id: runId } = await createRun(http.server, { threadId, body: body() })
  const waiting = (await ask("GET")).json
  const { status } = await ask("DELETE")
  await executorOf([http.server], runId)

  const traffic = [{ revision_id: "next", weight: null }]
  assert.deepEqual(quiet, { threads: 2, has_runs: false, traffic })
  assert.deepEqual(waiting, { threads: 2, has_runs: true, traffic })
  assert.equal(status, 204)
  assert.deepEqual((await ask("GET")).json, { threads: 0, has_runs: false, traffic })
})

test("an activation deletes the pins to revisions that it does not keep, since no server would execute their runs (SV5)", async () => {
  await using old = await freshServer({ revisionId: "old" })
  await activateOn(old)
  const [kept, own, lost] = [await newThread(old), await newThread(old), await newThread(old)]
  for (const [revision, threadId] of Object.entries({ kept, old: own, failed: lost }))
    await old.db.run(sql`update threads set revision_id = ${revision} where thread_id = ${threadId}`)
  const { run_id: runId } = await createRun(old, { threadId: lost, body: body() })

  await activateOn(old, { keep: ["kept"] })

  const pins = [await pinOf(old.db, kept), await pinOf(old.db, own), await pinOf(old.db, lost)]
  assert.deepEqual(pins, ["kept", "old", null])
  assert.equal(await executorOf([old], runId), old, "the waiting run is executed")
})

test("a run that its revision gives back after its pin was deleted is not pinned either (SV5)", async () => {
  await using two = await startTwo("old", "next")
  const { db, servers } = two
  const [old, next] = servers
  const threadId = await newThread(old)
  const { run_id: runId } = await createRun(old, { threadId, body: body() })
  assert.equal(await executorOf(servers, runId), old)
  await activateOn(next, { thread_pinning: "paused", keep: [] })
  const claim = await db.row<{ claim_id: string }>(sql`select claim_id from runs where run_id = ${runId}`)

  const release = { runId, claimId: claim?.claim_id ?? "", ending: "handed_back" as const, watcher: undefined }
  await releaseRun(db, release, "{}")

  assert.deepEqual(await db.row(sql`select revision_id from runs where run_id = ${runId}`), { revision_id: null })
})
