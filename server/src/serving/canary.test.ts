/** A canary gets a percentage of the threads besides the active revision (SV2). */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { createRun, waitForEnd } from "../testing/as-anyone.js"
import { newThread } from "../testing/creations.js"
import { activateOn, body, canaryAt, execute, executorOf, interrupted, startTwo } from "../testing/revisions.js"
import { freshHttp } from "../testing/test-http.js"

/** The revision of each thread, according to the database. */
async function revisionsOf(db: Database, threadIds: readonly string[]): Promise<(string | null)[]> {
  const wanted = sql`unnest(${threadIds}::uuid[]) with ordinality as wanted (thread_id, n)`
  const of = sql`select revision_of_thread(thread_id) as revision from ${wanted} order by n`
  return fieldsOf(await db.rows<{ revision: string | null }>(of), "revision")
}

test("weights distribute threads, a thread keeps its revision, and a larger weight moves threads only to that revision (SV2)", async () => {
  await using two = await startTwo("base", "canary")
  const { db, servers } = two
  const [base] = servers
  const threadIds = Array.from({ length: 2000 }, () => randomUUID())
  const shares: (string | null)[][] = []
  for (const weight of [10, 50]) {
    await activateOn(base, canaryAt(weight))
    shares.push(await revisionsOf(db, threadIds))
  }
  const [tenth = [], half = []] = shares
  const count = (revisions: (string | null)[]) => revisions.filter((revision) => revision === "canary").length

  // Six standard deviations of 2,000 draws: a fair draw is outside once in a thousand million.
  assert.ok(Math.abs(count(tenth) - 200) < 81, `${count(tenth)} of 2000 threads at 10 %`)
  assert.ok(Math.abs(count(half) - 1000) < 135, `${count(half)} of 2000 threads at 50 %`)
  const staysMoved = tenth.every((revision, n) => revision === "base" || half[n] === "canary")
  assert.ok(staysMoved, "no thread of the canary moved back")
  const used = threadIds.slice(0, 6)
  for (const [n, threadId] of used.entries()) {
    const options = { threadId, body: body({ if_not_exists: "create" }) }
    const { run_id: runId } = await createRun(servers[n % 2] ?? base, options)
    const executor = await executorOf(servers, runId)
    executor.workers.running.get(runId)?.done()
    await waitForEnd(base, runId)
    assert.equal(executor.claimer.revisionId, half[n])
    assert.equal(await execute(servers[(n + 1) % 2] ?? base, servers, threadId), half[n])
  }
  const stateless = new Set<string | null>()
  const reachesBoth = async () => stateless.add(await execute(base, servers)).size === 2
  await until(reachesBoth, { what: "stateless runs reach both" })
})

test("removing a weight, or a promotion, moves waiting runs", async () => {
  await using two = await startTwo("base", "canary")
  const { servers } = two
  const [base, canary] = servers
  await activateOn(base, canaryAt(50))
  const threadIds: string[] = []
  for (let n = 0; n < 8; n++) threadIds.push(await newThread(base))
  const executeAll = async () => {
    const revisions = []
    for (const threadId of threadIds) revisions.push(await execute(base, servers, threadId))
    return [...new Set(revisions)]
  }

  await activateOn(base)
  const aborted = await executeAll()
  await activateOn(base, canaryAt(50))
  await activateOn(canary)
  const promoted = await executeAll()

  assert.deepEqual([aborted, promoted], [["base"], ["canary"]])
})

test("a canary gets no thread that is paused on another revision, and keeps threads paused on it when it is replaced (SV2, SV3)", async () => {
  await using two = await startTwo("base", "canary")
  const { db, servers } = two
  const [base] = servers
  const before: string[] = []
  for (let n = 0; n < 5; n++) before.push(await newThread(base))
  for (const threadId of before) await execute(base, servers, threadId, interrupted)

  await activateOn(base, { ...canaryAt(99), thread_pinning: "paused" })
  const answers = []
  for (const threadId of before) answers.push(await execute(base, servers, threadId))
  const threadIds = Array.from({ length: 200 }, () => randomUUID())
  const onCanary = threadIds[(await revisionsOf(db, threadIds)).indexOf("canary")] ?? ""
  const { run_id: runId } = await createRun(base, { threadId: onCanary, body: body({ if_not_exists: "create" }) })
  const executor = await executorOf(servers, runId)
  executor.workers.running.get(runId)?.done(interrupted)
  await waitForEnd(base, runId)
  await activateOn(base, { ...canaryAt(1), thread_pinning: "paused", keep: ["canary"] })
  const lower = await execute(base, servers, onCanary, interrupted)
  await activateOn(base, { thread_pinning: "paused", keep: ["canary"] })
  const replaced = await execute(base, servers, onCanary, interrupted)
  await activateOn(base, { thread_pinning: "paused", keep: [] })
  const aborted = await execute(base, servers, onCanary)

  assert.deepEqual(answers, ["base", "base", "base", "base", "base"])
  assert.deepEqual([executor.claimer.revisionId, lower, replaced, aborted], ["canary", "canary", "canary", "base"])
})

test("an activation sets the traffic of every revision; a canary handles neither crons nor webhooks (SV2)", async () => {
  await using http = await freshHttp({ unitToken: "sesame", revisionId: "base" })
  const token = { "x-superstep-unit": "sesame" }
  const activateWith = async (request: object) => (await http.send("POST", "/internal/activate", request, token)).status
  const mayWhat = () =>
    http.db.row(sql`select may_claim('canary') as claims, is_active('canary') as "isActive" from (values (1)) nothing`)
  const statusReply = () => http.send("GET", "/internal/status", undefined, token)
  const statusOf = async () => (await statusReply()).json as object

  const anonymous = await http.send("GET", "/ok")
  const unfit = [canaryAt(0), canaryAt(100), { weight: 10 }, { canary: { revision_id: "base", weight: 10 } }]
  const refused = await Promise.all(unfit.map(activateWith))
  const before = await statusOf()
  const shared = await activateWith({ ...canaryAt(10), thread_pinning: "always" })
  const asCanary = await mayWhat()
  const during = await statusOf()
  const ended = await activateWith({})
  const after = await mayWhat()

  assert.equal(anonymous.status, 401)
  assert.equal((await statusReply()).headers.get("x-revision-id"), "base")
  assert.deepEqual(refused, [422, 422, 422, 422])
  assert.deepEqual([shared, ended], [204, 204])
  assert.deepEqual(asCanary, { claims: true, isActive: false })
  assert.deepEqual(after, { claims: false, isActive: false })
  const pick = (status: object) => ({ serving: undefined, traffic: undefined, runs: undefined, ...status })
  assert.deepEqual([pick(before).serving, pick(before).traffic], [false, []])
  assert.deepEqual(pick(during).traffic, [
    { revision_id: "base", weight: null },
    { revision_id: "canary", weight: 10 },
  ])
  assert.deepEqual([pick(during).serving, pick(during).runs], [true, { ended: 0, failed: 0 }])
})
