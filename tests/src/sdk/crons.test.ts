/**
 * Every method of the official client's `crons`, against server processes with real graphs and real Postgres. Due times
 * are moved, never waited for.
 */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { Client } from "@langchain/langgraph-sdk"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { type AgentServerProcess, agentDatabase, startAgentServer } from "../testing/agent-servers.js"

let db: Database
let server: AgentServerProcess
let other: AgentServerProcess
let client: Client

before(async () => {
  db = await agentDatabase()
  server = await startAgentServer({ databaseUri: db.uri })
  other = await startAgentServer({ databaseUri: db.uri })
  client = server.client
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
  await other?.[Symbol.asyncDispose]()
  await db?.[Symbol.asyncDispose]()
})

const input = { steps: 2, everyMs: 0 }

/** Moves a due time into the past, and wakes the servers, as they do for each other when a cron changes. */
async function makeDue(cronId: string): Promise<void> {
  await db.run(sql`update crons set next_run_date = now() - interval '3 hours' where cron_id = ${cronId}`)
  await db.run(sql`select pg_notify('crons_changed', '')`)
}

/** The threads on which a cron's runs are over; each of them has one. */
const finishedThreads = (cronId: string, count: number) =>
  until(
    async () => {
      const rows = await db.rows<{ thread_id: string; status: string }>(
        sql`select thread_id, status from runs where metadata ->> 'cron_id' = ${cronId}`,
      )
      const isDone = rows.length >= count && rows.every(({ status }) => status === "success")
      return isDone && rows.map(({ thread_id }) => thread_id)
    },
    { what: `${count} runs of the cron are over`, timeoutMs: 60_000 },
  )

const fails = (status: number, words: RegExp) => (error: unknown) =>
  error instanceof Error && error.message.startsWith(`HTTP ${status}`) && words.test(error.message)

test("a cron lives through all that the client can do with it", async () => {
  const made = await client.crons.create("steps", {
    schedule: "0 9 * * MON-FRI",
    timezone: "Europe/Berlin",
    input,
    metadata: { team: "x" },
    config: { configurable: { model: "large" } },
    endTime: "2999-01-01T00:00:00Z",
    onRunCompleted: "keep",
  })
  const id = made.cron_id
  const found = await client.crons.search({ metadata: { team: "x" } })
  const changed = await client.crons.update(id, { schedule: "@hourly", endTime: null, metadata: { size: 2 } })
  const paused = await client.crons.update(id, { enabled: false })
  const count = await client.crons.count({ metadata: { team: "x" } })
  await client.crons.delete(id)

  assert.deepEqual(
    found.map(({ cron_id, payload }) => [cron_id, payload.input]),
    [[id, input]],
  )
  assert.deepEqual([changed.schedule, changed.end_time, changed.metadata], ["@hourly", null, { team: "x", size: 2 }])
  assert.match(String(changed.next_run_date), /:00:00\.000Z$/)
  assert.deepEqual([paused.enabled, paused.next_run_date, count], [false, null, 1])
  assert.equal(await client.crons.count({ metadata: { team: "x" } }), 0)
  await assert.rejects(client.crons.delete(id), fails(404, /Cron with ID/))
  await assert.rejects(client.crons.update(id, {}), fails(404, /Cron with ID/))
})

test("a cron runs its graph once for what two servers missed, on a thread that stays", async () => {
  const { cron_id } = await client.crons.create("steps", { schedule: "0 0 1 1 *", input, onRunCompleted: "keep" })

  await makeDue(cron_id)
  const [threadId] = await finishedThreads(cron_id, 1)

  const { values } = await client.threads.getState<{ log: number[] }>(threadId ?? "")
  assert.deepEqual(values.log, [0, 1])
  assert.equal((await finishedThreads(cron_id, 1)).length, 1)
  await client.crons.delete(cron_id)
})

test("a cron of a thread goes on from its state, and knows when the thread is gone", async () => {
  const { thread_id } = await client.threads.create()
  const { cron_id } = await client.crons.createForThread(thread_id, "steps", { schedule: "0 0 1 1 *", input })

  await makeDue(cron_id)
  await finishedThreads(cron_id, 1)
  await makeDue(cron_id)
  await finishedThreads(cron_id, 2)
  const { values } = await client.threads.getState<{ log: number[] }>(thread_id)
  await client.threads.delete(thread_id)
  await makeDue(cron_id)
  const [gone] = await until(
    async () => {
      const crons = await client.crons.search({ threadId: thread_id, enabled: false })
      return crons.length === 1 && crons
    },
    { what: "the cron is disabled" },
  )

  assert.deepEqual(values.log, [0, 1, 2, 3])
  const { disabled_reason } = gone as unknown as { disabled_reason: string }
  assert.equal(disabled_reason, `the thread ${thread_id} does not exist any more`)
})

test("what the client may ask for and cannot be is refused with words", async () => {
  const schedule = "* * * * *"

  await assert.rejects(client.crons.create("steps", { schedule: "often" }), fails(422, /five fields/))
  await assert.rejects(client.crons.create("steps", { schedule, timezone: "Mars" }), fails(422, /time zone/))
  await assert.rejects(client.crons.create("nobody", { schedule }), fails(404, /nobody/))
  await assert.rejects(client.crons.createForThread("none", "steps", { schedule }), fails(422, /UUID/))
  await assert.rejects(client.crons.search({ limit: 0 }), fails(422, /limit/))
  await assert.rejects(client.crons.count({ threadId: "none" }), fails(422, /UUID/))
  assert.equal(await client.crons.count({ assistantId: "nobody" }), 0)
})
