import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { exampleDeployment, migrations, startApi } from "../testing/api.js"
import { whyStuck } from "./progress.js"
import { pipelineProgress, recentEnds, recentStageTimes } from "./progress-queries.js"
import { addDeployment, addRevision } from "./testing/rows.js"

const minutes = (count: number) => count * 60_000
const waiting = { waiting: 2, oldest_waiting_ms: minutes(9), claimed: 0, quiet_ms: minutes(7) }

test("a pipeline is stuck when revisions wait without progress for minutes, and one with busy slots after an hour", () => {
  assert.match(whyStuck(waiting, minutes(600)) ?? "", /2 revisions wait for 7 minutes, and no process works on them/)
  assert.equal(whyStuck({ ...waiting, waiting: 0, oldest_waiting_ms: 0 }, minutes(600)), undefined)
  assert.equal(whyStuck({ ...waiting, quiet_ms: minutes(1) }, minutes(600)), undefined, "something has just happened")
  assert.equal(whyStuck({ ...waiting, oldest_waiting_ms: minutes(1) }, minutes(600)), undefined, "it came just now")
  assert.equal(whyStuck(waiting, minutes(1)), undefined, "it has just been started")

  const busy = { ...waiting, claimed: 8 }

  assert.equal(whyStuck({ ...busy, quiet_ms: minutes(40), oldest_waiting_ms: minutes(50) }, minutes(600)), undefined)
  assert.match(
    whyStuck({ ...busy, quiet_ms: minutes(70), oldest_waiting_ms: minutes(80) }, minutes(600)) ?? "",
    /8 have been worked on without progress/,
  )
})

test("only claimable revisions count as waiting, not delayed ones or those behind an older one", async () => {
  await using db = await freshDatabase({ migrations })
  const [one, two] = [await addDeployment(db), await addDeployment(db)]
  const first = await addRevision(db, one)
  await addRevision(db, one)
  const later = await addRevision(db, two)
  await db.run(sql`update revisions set stage = 'fetch', not_before = now() - interval '9 minutes'`)
  await db.run(sql`update revisions set not_before = now() + interval '1 minute' where revision_id = ${later}`)
  await db.run(sql`update revisions set updated_at = now() - interval '7 minutes'`)

  const idle = await pipelineProgress(db)
  await db.run(sql`
    update revisions set lease_owner = 'x', lease_until = now() + interval '1 minute' where revision_id = ${first}`)
  const busy = await pipelineProgress(db)

  assert.deepEqual([idle.waiting, idle.claimed, busy.waiting, busy.claimed], [1, 0, 0, 1])
  assert.ok(Math.abs(idle.oldest_waiting_ms - minutes(9)) < minutes(1))
  assert.ok(Math.abs((idle.quiet_ms ?? 0) - minutes(7)) < minutes(1))
  assert.equal(busy.quiet_ms, null)
})

test("the waiting time of a revision starts when the one before it has ended", async () => {
  await using db = await freshDatabase({ migrations })
  const deployment = await addDeployment(db)
  const first = await addRevision(db, deployment)
  await addRevision(db, deployment)
  await db.run(sql`
    update revisions set not_before = now() - interval '20 minutes', updated_at = now() - interval '20 minutes'`)

  await db.run(sql`update revisions set stage = null, updated_at = now() where revision_id = ${first}`)
  const progress = await pipelineProgress(db)

  assert.equal(progress.waiting, 1)
  assert.ok((progress.quiet_ms ?? Number.NaN) < minutes(1))
  assert.equal(whyStuck(progress, minutes(600)), undefined)
})

test("only stages and results of the last hour are reported", async () => {
  await using db = await freshDatabase({ migrations })
  const deployment = await addDeployment(db)
  const [recent, old] = [await addRevision(db, deployment), await addRevision(db, deployment)]
  await db.run(sql`
    update revisions set stage = null, status = 'BUILD_FAILED', error_code = 'graph_load_failed', finished_at = now(),
      stage_started_at = jsonb_build_object('fetch', now() - interval '40 seconds', 'build', now() - interval '30 seconds')`)
  await db.run(sql`update revisions set finished_at = now() - interval '2 hours' where revision_id = ${old}`)

  const times = await recentStageTimes(db)
  const ends = await recentEnds(db)

  assert.notEqual(recent, old)
  assert.deepEqual(
    times.map((it) => [it.stage, it.count, Math.round(it.median_seconds), Math.round(it.slowest_seconds)]),
    [
      ["build", 1, 30, 30],
      ["fetch", 1, 10, 10],
    ],
  )
  assert.deepEqual(ends, [{ status: "BUILD_FAILED", error_code: "graph_load_failed", count: 1 }])
})

test("/health is 503 while the pipeline is stuck, and 200 when nothing waits", async () => {
  await using api = await startApi({ upMs: () => minutes(600) })
  const { body } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  const fresh = await api.call("GET", "/health")
  await api.db.run(sql`
    update revisions set not_before = now() - interval '10 minutes', updated_at = now() - interval '10 minutes'`)

  const stuck = await api.call("GET", "/health")
  await api.db.run(sql`update revisions set stage = null where revision_id = ${body.latest_revision_id}`)
  const done = await api.call("GET", "/health")

  assert.deepEqual([fresh.status, stuck.status, done.status], [200, 503, 200])
  assert.match(stuck.body.detail, /the pipeline is stuck: a revision waits for (9|10) minutes/)
})
