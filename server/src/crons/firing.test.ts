/** Crons that are due, fired by the loops of real servers on a real database. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { onBehalfOf } from "../auth/caller.js"
import { activate } from "../serving/activation.js"
import { freshHttp, startTestHttp } from "../testing/test-http.js"
import { serverDatabase, startTestServer } from "../testing/test-server.js"
import { newThread } from "../testing/thread-streams.js"
import { fireCron } from "./firing.js"
import { prepareCron } from "./operations.js"
import { takeDueCrons } from "./queries.js"
import { newCron } from "./schema.js"
import { type Cron, created, cronOf, hourly, makeDue, runsOf, startedRuns } from "./testing/cron.js"

test("a due cron creates a stateless run with its cron_id, which is deleted after its end, or kept with its thread", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const cron = await created(http, { ...hourly, metadata: { team: "a" }, context: { tone: "dry" } })
  const keeping = await created(http, { ...hourly, on_run_completed: "keep" })

  await makeDue(http.db, cron.cron_id)
  const [run] = await startedRuns(http.server, 1)
  const [row] = await runsOf(http.db, cron.cron_id)
  run?.done()

  assert.equal(run?.order.input, '{"n":1}')
  assert.deepEqual(JSON.parse(run?.order.context ?? ""), { tone: "dry" })
  const { metadata } = JSON.parse(run?.order.config ?? "")
  assert.deepEqual([metadata.cron_id, metadata.team], [cron.cron_id, "a"])
  assert.ok(row)
  await until(async () => (await runsOf(http.db, cron.cron_id)).length === 0, {
    what: "the run and its thread are gone",
  })
  assert.equal((await http.send("GET", `/threads/${row.thread_id}`)).status, 404)
  const { next_run_date } = await cronOf(http, cron.cron_id)
  assert.match(String(next_run_date), /:00:00.000Z$/)
  assert.ok(new Date(String(next_run_date)) > new Date())
  await makeDue(http.db, keeping.cron_id)
  const [, kept] = await startedRuns(http.server, 2)
  kept?.done({ values: '{"n":2}' })
  await until(async () => (await runsOf(http.db, keeping.cron_id))[0]?.status === "success", {
    what: "the run has ended",
  })
  const { json } = await http.send("GET", `/threads/${kept?.order.threadId}`)
  assert.deepEqual((json as { values: object }).values, { n: 2 })
})

test("a cron's runs get the user who created the cron", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const user = { identity: "ada", display_name: "Ada", is_authenticated: true, permissions: ["plan"] }
  const create = await prepareCron(http.server, onBehalfOf(user), undefined, newCron.parse(hourly))
  const cron = await create(http.db)

  await makeDue(http.db, cron.cron_id)
  const [run] = await startedRuns(http.server, 1)

  const { configurable } = JSON.parse(run?.order.config ?? "")
  assert.deepEqual(configurable.langgraph_auth_user, user)
  assert.deepEqual(configurable.langgraph_auth_permissions, ["plan"])
  assert.equal((await http.send("GET", `/runs/crons/${cron.cron_id}`)).text.includes("permissions"), false)
  run?.done()
})

test("a cron is skipped while as many runs wait on its thread as may (CR4)", async () => {
  await using http = await freshHttp({ graphs: ["agent"], maxWaitingRuns: 1 })
  const threadId = await newThread(http)
  const cron = await created(http, hourly, `/threads/${threadId}/runs/crons`)

  for (const expected of [1, 2]) {
    await makeDue(http.db, cron.cron_id)
    await until(async () => (await runsOf(http.db, cron.cron_id)).length === expected, {
      what: `run ${expected} is there`,
    })
  }
  await makeDue(http.db, cron.cron_id)
  await until(async () => new Date(String((await cronOf(http, cron.cron_id)).next_run_date)) > new Date(), {
    what: "the cron is due later",
  })

  assert.equal((await runsOf(http.db, cron.cron_id)).length, 2)
  for (const run of http.server.workers.running.values()) run.done()
})

test("several servers create one run per due time (CR1)", async () => {
  await using db = await serverDatabase()
  await using http = await startTestHttp(db, { graphs: ["agent"] })
  await using two = await startTestServer(db)
  await using three = await startTestServer(db)
  const crons = await Promise.all(
    Array.from({ length: 12 }, () => created(http, { ...hourly, on_run_completed: "keep" })),
  )

  await db.run(sql`update crons set next_run_date = now()`)
  for (const server of [http.server, two, three]) server.crons.wake()
  await until(async () => !(await db.row(sql`select 1 from crons where next_run_date <= now()`)), {
    what: "no cron is due",
  })
  // Each server has finished its pass before it polls again, and finds nothing.
  for (const server of [http.server, two, three]) await server.crons.stop()

  for (const { cron_id } of crons) assert.equal((await runsOf(db, cron_id)).length, 1)
})

test("a server does not wait for crons that other servers hold, and takes over those of a dead server (CR1)", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const [locked, taken, free] = [await created(http, hourly), await created(http, hourly), await created(http, hourly)]
  await http.db.run(sql`update crons set taken_until = now() + interval '1 hour' where cron_id = ${taken.cron_id}`)

  await http.db.transaction(async (tx) => {
    await tx.run(sql`select from crons where cron_id = ${locked.cron_id} for update`)
    for (const { cron_id } of [taken, free]) await makeDue(http.db, cron_id)
    await http.db.run(sql`select pg_notify('crons_changed', '')`)
    await startedRuns(http.server, 1)
  })
  const firedFirst = [(await runsOf(http.db, free.cron_id)).length, (await runsOf(http.db, taken.cron_id)).length]
  // The other server's hold has expired.
  await http.db.run(sql`update crons set taken_until = now() - interval '1 second' where cron_id = ${taken.cron_id}`)
  http.server.crons.wake()
  await startedRuns(http.server, 2)

  assert.deepEqual(firedFirst, [1, 0])
  assert.equal((await runsOf(http.db, taken.cron_id)).length, 1)
})

test("due times that passed without a server are replaced by one run (CR2)", async () => {
  await using db = await serverDatabase()
  let cronId = ""
  {
    await using http = await startTestHttp(db, { graphs: ["agent"] })
    cronId = (await created(http, { ...hourly, on_run_completed: "keep" })).cron_id
  }
  await makeDue(db, cronId, "30 days")

  await using server = await startTestServer(db)
  await startedRuns(server, 1)

  const late = () => db.row(sql`select 1 from crons where next_run_date > now() and cron_id = ${cronId}`)
  await until(late, { what: "the next due time is in the future" })
  assert.equal((await runsOf(db, cronId)).length, 1)
})

test("only a server of the active revision creates runs of crons (CR3)", async () => {
  await using db = await serverDatabase()
  await using old = await startTestHttp(db, { graphs: ["agent"], revisionId: "old" })
  await using coming = await startTestServer(db, { revisionId: "coming" })
  await activate({ ...old.server, graphDefaults: {}, defaultTtl: undefined, revisionId: "old" })
  const { cron_id } = await created(old, hourly)

  coming.crons.wake()
  await makeDue(db, cron_id)
  await startedRuns(old.server, 1)
  await activate({ ...coming, graphDefaults: {}, defaultTtl: undefined, revisionId: "coming" })
  await makeDue(db, cron_id)
  await startedRuns(coming, 1)

  const counts = [old.server, coming].map(({ workers }) => workers.started.length)
  assert.deepEqual(counts, [1, 1])
})

test("a cron whose thread or assistant was deleted is disabled with the reason (CR4)", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const threadId = await newThread(http)
  const onThread = await created(http, hourly, `/threads/${threadId}/runs/crons`)
  const stateless = await created(http, hourly)
  const disabled = async ({ cron_id }: Cron) => {
    await until(async () => !(await cronOf(http, cron_id)).enabled, { what: "the cron is disabled" })
    return cronOf(http, cron_id)
  }

  await http.db.run(sql`delete from threads where thread_id = ${threadId}`)
  await makeDue(http.db, onThread.cron_id)
  const first = await disabled(onThread)
  await http.db.run(sql`delete from assistants`)
  await makeDue(http.db, stateless.cron_id)
  const second = await disabled(stateless)

  assert.equal(first.disabled_reason, `the thread ${threadId} does not exist any more`)
  assert.equal(first.next_run_date, null)
  assert.match(second.disabled_reason ?? "", /^the assistant .* does not exist any more$/)
  assert.equal(http.server.workers.started.length, 0)
  const again = await http.send("PATCH", `/runs/crons/${onThread.cron_id}`, { enabled: true })
  assert.equal((again.json as Cron).disabled_reason, null)
  assert.ok((again.json as Cron).next_run_date)
})

test("a cron whose run is rejected is skipped until it is due again (CR4)", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const threadId = await newThread(http)
  await http.send("POST", `/threads/${threadId}/runs`, { assistant_id: "agent" })
  const rejecting = { ...hourly, multitask_strategy: "reject" }
  const { cron_id } = await created(http, rejecting, `/threads/${threadId}/runs/crons`)
  const isAhead = () => http.db.row(sql`select 1 from crons where cron_id = ${cron_id} and next_run_date > now()`)

  await makeDue(http.db, cron_id)
  await until(isAhead, { what: "the due time is skipped" })
  assert.deepEqual(await runsOf(http.db, cron_id), [])
  http.server.workers.started[0]?.done()
  const thread = async () => (await http.send("GET", `/threads/${threadId}`)).json as { status: string }
  await until(async () => (await thread()).status === "idle", { what: "the thread is idle" })
  await makeDue(http.db, cron_id)
  await startedRuns(http.server, 2)

  assert.equal((await cronOf(http, cron_id)).enabled, true)
})

test("a cron that was due before its end creates no run after it", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const ended = await created(http, { ...hourly, end_time: "2999-01-01T00:00:00Z" })

  await http.db.run(sql`update crons set end_time = now() - interval '1 hour', next_run_date = now() - interval '2 hours'
    where cron_id = ${ended.cron_id}`)
  await http.db.run(sql`select pg_notify('crons_changed', '')`)
  await until(async () => (await cronOf(http, ended.cron_id)).next_run_date === null, { what: "the cron has ended" })

  assert.equal(http.server.workers.started.length, 0)
})

test("crons that fail do not block later ones", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  // Simulates a bug: inserting their runs fails with an unexpected error.
  await http.db.run(
    sql`alter table runs add constraint no_such_runs check (metadata ->> 'team' is distinct from 'lost')`,
  )
  const lost = { ...hourly, metadata: { team: "lost" } }
  for (let n = 0; n < 5; n++) await makeDue(http.db, (await created(http, lost)).cron_id, "1 hour")
  const { cron_id } = await created(http, { ...hourly, on_run_completed: "keep" })

  await makeDue(http.db, cron_id)
  await startedRuns(http.server, 1)

  assert.equal((await runsOf(http.db, cron_id)).length, 1)
  const waiting = await http.db.rows(sql`select 1 from crons where next_run_date <= now()`)
  assert.equal(waiting.length, 5)
})

for (const [changes, what] of [
  [1, "a change that is answered before a cron fires is in its run (CR8)"],
  [Number.POSITIVE_INFINITY, "a cron that is changed all the time still fires (CR8)"],
] as const) {
  test(what, async () => {
    await using http = await freshHttp({ graphs: ["agent"] })
    await http.server.crons.stop()
    const { cron_id } = await created(http, { ...hourly, on_run_completed: "keep" })
    await makeDue(http.db, cron_id)
    let changed = 0
    const changedBefore: Database = {
      ...http.db,
      transaction: async (work) => {
        if (changed < changes) await http.send("PATCH", `/runs/crons/${cron_id}`, { input: { n: 1 + ++changed } })
        return http.db.transaction(work)
      },
    }
    const [due] = await takeDueCrons(http.db, null, { limit: 1, except: [], holdMs: 1000 })
    assert.ok(due)

    await fireCron({ ...http.server, db: changedBefore }, due)
    const [run] = await startedRuns(http.server, 1)

    assert.equal((await runsOf(http.db, cron_id)).length, 1)
    assert.ok(changed > 0)
    if (changes === 1) assert.equal(run?.order.input, '{"n":2}')
    assert.ok(new Date(String((await cronOf(http, cron_id)).next_run_date)) > new Date())
  })
}
