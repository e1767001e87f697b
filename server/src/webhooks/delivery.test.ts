/** Webhooks from the end of a run to real receivers. Tests change the times of tries instead of waiting for them. */
import assert from "node:assert/strict"
import { createHmac } from "node:crypto"
import { test } from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { startReceiver } from "@superstep/toolkit/webhooks/testing/receiver"
import { attemptOf } from "../testing/as-anyone.js"
import { freshHttp, startTestHttp, type TestHttp } from "../testing/test-http.js"
import { serverDatabase, startTestServer, type TestServer } from "../testing/test-server.js"
import { newThread } from "../testing/thread-streams.js"
import { payloadText } from "./payload.js"
import type { Delivery } from "./queries.js"

interface DeliveryRow {
  readonly state: string
  readonly tries: number
  readonly reply_status: number | null
  readonly reply: string | null
  readonly failure: string | null
}

const deliveryOf = (db: Db, runId: string) =>
  db.row<DeliveryRow>(
    sql`select state, tries, reply_status, reply, failure from webhook_deliveries where run_id = ${runId}`,
  )

const untilDelivery = (what: string, db: Db, runId: string, holds: (row: DeliveryRow) => boolean) =>
  until(
    async () => {
      const row = await deliveryOf(db, runId)
      return row && holds(row) ? row : undefined
    },
    { what },
  )

const delivered = (db: Db, runId: string, state = "delivered") =>
  untilDelivery(`the delivery is ${state}`, db, runId, (row) => row.state === state)

const tried = (db: Db, runId: string, tries: number) =>
  untilDelivery(`try ${tries} has failed`, db, runId, (row) => row.tries === tries && row.failure !== null)

const makeDue = (db: Db, runId: string) =>
  db.run(sql`update webhook_deliveries set next_try_at = now() where run_id = ${runId} and state = 'pending'`)

interface Asked {
  /** The server that executes the run. */
  readonly executor?: TestServer
  readonly [field: string]: unknown
}

async function startRun(http: TestHttp, webhook: string, { executor = http.server, ...fields }: Asked = {}) {
  const n = executor.workers.started.length
  const body = { assistant_id: "agent", input: { n: 1 }, webhook, ...fields }
  const { status, json, text } = await http.send("POST", "/runs", body)
  assert.equal(status, 200, text)
  const run = await until(() => executor.workers.started[n], { what: "the run to start" })
  return { run, json: json as Record<string, unknown>, runId: run.order.runId }
}

test("a webhook call has the run, its state and its times, and is signed (W1, W3)", async () => {
  await using receiver = await startReceiver()
  const key = Buffer.from("0123456789abcdef0123456789abcdef")
  const signingSecret = new Secret(`whsec_${key.toString("base64")}`)
  const headers = { "x-our": new Secret("token"), "webhook-id": new Secret("forged") }
  await using http = await freshHttp({ webhooks: { signingSecret, headers } })

  const config = { configurable: { model: "m", __internal: 1, langgraph_auth_user: { token: "t" } } }
  const { run, json, runId } = await startRun(http, receiver.url, { metadata: { a: "b" }, config })
  run.done({ values: '{"n": 2}' })
  const row = await delivered(http.db, runId)

  assert.deepEqual(row, { state: "delivered", tries: 1, reply_status: 200, reply: "thanks", failure: null })
  assert.equal(receiver.calls.length, 1)
  const { method, body, json: payload, headers: got } = receiver.calls[0] ?? assert.fail("nothing was received")
  assert.equal(method, "POST")
  assert.equal(got["content-type"], "application/json")
  assert.equal(got["x-our"], "token")
  assert.equal(got["webhook-id"], runId)
  const signed = createHmac("sha256", key).update(`${runId}.${got["webhook-timestamp"]}.${body}`).digest("base64")
  assert.equal(got["webhook-signature"], `v1,${signed}`)
  const { run_started_at, run_ended_at, webhook_sent_at, updated_at, kwargs, ...rest } = payload
  assert.deepEqual(rest, {
    run_id: runId,
    thread_id: json.thread_id,
    assistant_id: json.assistant_id,
    created_at: json.created_at,
    status: "success",
    metadata: json.metadata,
    multitask_strategy: "enqueue",
    attempt: 1,
    values: { n: 2 },
  })
  assert.equal(updated_at, run_ended_at)
  assert.ok(run_started_at <= run_ended_at && run_ended_at <= webhook_sent_at)
  assert.deepEqual(kwargs.input, { n: 1 })
  assert.equal(kwargs.config.configurable.model, "m")
  assert.equal(/langgraph_auth|__internal/.test(JSON.stringify(kwargs.config.configurable)), false)
})

test("every ended run causes one webhook call, and a removed run causes none (W1)", async () => {
  await using receiver = await startReceiver()
  await using http = await freshHttp({ runTimeoutMs: 0 })
  const { db } = http
  const threadId = await newThread(http)
  const path = `/threads/${threadId}/runs`
  const asked = { assistant_id: "agent", webhook: receiver.url }
  const newRun = async (fields: object = {}) =>
    ((await http.send("POST", path, { ...asked, ...fields })).json as { run_id: string }).run_id
  const cancel = (runId: string, action: string) => http.send("POST", `${path}/${runId}/cancel?wait=1&action=${action}`)

  const running = await newRun()
  const waiting = await newRun()
  const rolledBackWaiting = await newRun()
  await cancel(rolledBackWaiting, "rollback")
  await cancel(waiting, "interrupt")
  await cancel(running, "interrupt")
  const rolledBack = await newRun()
  await cancel(rolledBack, "rollback")
  const interrupted = await newRun()
  await newRun({ multitask_strategy: "interrupt" })
  for (const runId of [running, waiting, interrupted]) await delivered(db, runId)
  const last = await until(() => [...http.server.workers.running.values()][0], { what: "the last run executes" })
  last.done({ status: "interrupted", values: "{}", interrupts: '{"t":[{"id":"i","value":1}]}', next: ["ask"] })
  await delivered(db, last.order.runId)

  const told = receiver.calls.map(({ json }) => [json.run_id, json.status])
  const interruptedRuns = [running, waiting, interrupted, last.order.runId].map((id) => `${id},interrupted`)
  assert.deepEqual(told.map(String).sort(), interruptedRuns.sort())
  const started = Object.fromEntries(receiver.calls.map(({ json }) => [json.run_id, json.run_started_at]))
  assert.equal(started[waiting], null)
  assert.ok(started[running])
})

test("a run that was lost too often has a webhook call", async () => {
  await using receiver = await startReceiver()
  await using http = await freshHttp()

  const { runId } = await startRun(http, receiver.url)
  for (const attempt of [1, 2, 3]) (await attemptOf(http.server, runId, attempt)).die()
  await delivered(http.db, runId)

  const { status, error, attempt } = receiver.calls[0]?.json ?? {}
  assert.deepEqual([status, error.error, attempt], ["error", "WorkerLost", 3])
})

test("a receiver that fails twice gets the same delivery a third time (W2)", async () => {
  await using receiver = await startReceiver((reply, n) =>
    n === 1 ? reply.destroy() : reply.writeHead(n === 2 ? 500 : 200).end(),
  )
  await using http = await freshHttp()
  const { db } = http

  const { run, runId } = await startRun(http, receiver.url)
  run.done()
  const first = await tried(db, runId, 1)
  await makeDue(db, runId)
  const second = await tried(db, runId, 2)
  await makeDue(db, runId)
  const third = await delivered(db, runId)

  assert.match(first.failure ?? "", /hang up|ECONNRESET/)
  assert.deepEqual([second.failure, second.reply_status], ["the answer had the status 500", 500])
  assert.deepEqual([third.tries, third.failure], [3, null])
  const ids = receiver.calls.map(({ headers }) => headers["webhook-id"])
  assert.deepEqual(ids, [runId, runId, runId])
})

test("a failed delivery is retried when it is due, without a notification (W2)", async () => {
  await using receiver = await startReceiver((reply, n) => reply.writeHead(n === 1 ? 500 : 200).end())
  await using http = await freshHttp()

  const { run, runId } = await startRun(http, receiver.url)
  run.done()

  assert.equal((await delivered(http.db, runId)).tries, 2)
})

test("a delivery that failed too often or got 410 is dead, and can be delivered again by hand", async () => {
  let status = 503
  await using receiver = await startReceiver((reply) => reply.writeHead(status).end())
  await using http = await freshHttp()
  const { db } = http

  const { run, runId } = await startRun(http, receiver.url)
  run.done()
  await tried(db, runId, 1)
  await db.run(sql`update webhook_deliveries set tries = 9, next_try_at = now()`)
  const dead = await delivered(db, runId, "dead")
  status = 410
  const other = await startRun(http, receiver.url)
  other.run.done()
  const gone = await delivered(db, other.runId, "dead")
  status = 200
  const again = sql`state = 'pending', tries = 0, next_try_at = now()`
  await db.run(sql`update webhook_deliveries set ${again} where state = 'dead'`)
  await delivered(db, runId)
  await delivered(db, other.runId)

  assert.deepEqual([dead.tries, dead.failure], [10, "the answer had the status 503"])
  assert.deepEqual([gone.tries, gone.failure], [1, "the answer had the status 410"])
})

test("a server that dies between a run's end and its delivery loses nothing (W1, W2)", async () => {
  await using db = await serverDatabase()
  await using receiver = await startReceiver()
  await using asked = await startTestHttp(db, { slots: 0 })
  const doomed = await startTestServer(db)
  // These servers still create and end runs, but deliver no webhooks.
  await asked.server.deliveries?.stop()
  await doomed.deliveries?.stop()
  const { run, runId } = await startRun(asked, receiver.url, { executor: doomed })
  run.done({ values: '{"n":1}' })
  const row = await until(() => deliveryOf(db, runId), { what: "the delivery is in the outbox" })
  await doomed.crash()

  await using _other = await startTestServer(db)
  await delivered(db, runId)

  assert.deepEqual([row.state, row.tries], ["pending", 0])
  assert.deepEqual(fieldsOf(fieldsOf(receiver.calls, "json"), "values"), [{ n: 1 }])
})

test("another server repeats the call of a server that died, and at once that of a server that stopped (W2)", async () => {
  await using db = await serverDatabase()
  await using receiver = await startReceiver((reply, n) => (n > 1 ? void reply.end() : undefined))
  const first = await startTestHttp(db)
  const { run, runId } = await startRun(first, receiver.url)
  run.done()
  await until(() => receiver.calls.length === 1, { what: "the call is under way" })

  await using _other = await startTestServer(db)
  await first[Symbol.asyncDispose]()
  const { tries } = await delivered(db, runId)

  assert.equal(tries, 2)
  assert.equal(receiver.calls.length, 2)
})

test("two servers deliver each webhook once", async () => {
  await using db = await serverDatabase()
  await using receiver = await startReceiver()
  await using http = await startTestHttp(db, { slots: 30 })
  await using _other = await startTestServer(db)

  const runs = []
  for (let n = 0; n < 20; n++) runs.push(await startRun(http, receiver.url))
  for (const { run } of runs) run.done()
  for (const { runId } of runs) await delivered(db, runId)

  const ids = receiver.calls.map(({ json }) => json.run_id)
  assert.deepEqual([...ids].sort(), runs.map(({ runId }) => runId).sort())
})

test("forbidden webhooks are rejected, disabled ones are ignored, and host names are checked at the call (W4)", async () => {
  await using db = await serverDatabase()
  await using receiver = await startReceiver()
  await using http = await startTestHttp(db, { webhooks: { allowsLoopback: false } })
  const run = { assistant_id: "agent" }
  const unfit = ["", "x", "/hook", "http://127.0.0.1/", "http://[::]/", 5, "a\u0000", "\ud800", {}, "x".repeat(65_537)]
  for (const webhook of unfit) {
    for (const path of ["/runs", "/runs/stream", "/runs/wait", "/runs/crons"]) {
      const { status, json, text } = await http.send("POST", path, { ...run, schedule: "* * * * *", webhook })
      assert.equal(status, 422, `${path} ${String(webhook).slice(0, 30)}: ${text}`)
      assert.match(String((json as { detail: string }).detail), /webhook/)
    }
  }
  assert.equal(http.server.workers.started.length, 0)

  await using off = await startTestHttp(db, { webhooks: { isDisabled: true } })
  const created = await off.send("POST", "/runs", { ...run, webhook: receiver.url })
  assert.equal(created.status, 200)
  assert.equal("webhook" in (created.json as { kwargs: object }).kwargs, false)
})

test("a webhook gets numbers as the client sent them and the graph made them", () => {
  const kwargs = '{"input":{"id":12345678901234567890},"config":{"configurable":{"rate":1.0,"__secret":1}}}'
  const delivery = { kwargs, metadata: '{"n":-0.0}', values: '{"big":36893488147419103232}', error: null }

  const text = payloadText(delivery as Delivery, new Date(0))

  const exact = ['"id":12345678901234567890', '"configurable":{"rate":1.0}', '"n":-0.0', '"big":36893488147419103232']
  for (const part of exact) assert.ok(text.includes(part), `${part} in ${text}`)
})
