/** Webhooks from the event to real receivers; the times of tries are moved, never waited for. */
import assert from "node:assert/strict"
import { createHmac } from "node:crypto"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { type Receiver, startReceiver } from "@superstep/toolkit/webhooks/testing/receiver"
import { recordEvent } from "../events/operations.js"
import { testPlatform } from "../pipeline/testing/platform.js"
import { exampleDeployment, startApi, type TestApi } from "../testing/api.js"
import { createDeliveryLoop } from "./delivery-loop.js"
import { deleteWebhook } from "./operations.js"
import { delaysMs } from "./webhook.js"

const rules = { allowsLoopback: true, allowsPrivate: false }

async function startLoop({ db, key }: TestApi, options: { timeoutMs?: number; allowsLoopback?: boolean } = {}) {
  const { timeoutMs = 10_000, ...changed } = options
  const loop = createDeliveryLoop({ db, key, log: silent, rules: { ...rules, ...changed }, timeoutMs })
  await loop.start()
  return { [Symbol.asyncDispose]: () => loop.stop() }
}

async function hook(api: TestApi, url: string, more: object = {}) {
  const { status, body, text } = await api.call("POST", "/v2/webhooks", { body: { url, ...more } })
  assert.equal(status, 201, text)
  return body as { id: string; signing_secret: string }
}

const warn = ({ db, workspaceId }: { db: Db; workspaceId: string }, n: number) =>
  recordEvent(db, { workspaceId, type: "quota.warning", data: { n } })

const deliveries = async (api: TestApi, id: string) =>
  (await api.call("GET", `/v2/webhooks/${id}/deliveries?limit=100`)).body.resources

/** Waits until the only delivery is in this state after that many tries. */
const tried = (api: TestApi, id: string, state: string, tries: number) =>
  until(
    async () => {
      const [only] = await deliveries(api, id)
      assert.ok(only === undefined || only.tries <= tries, `unexpected: ${JSON.stringify(only)}`)
      return (
        only?.state === state && only.tries === tries && (only.reply_status !== null || only.failure !== null) && only
      )
    },
    { what: `try ${tries} is ${state}` },
  )

const makeDue = ({ db }: TestApi) =>
  db.run(sql`update webhook_deliveries set next_try_at = now() where state = 'pending'`)

const numbers = ({ calls }: Receiver) => calls.map(({ json }) => json.data.n).toSorted()

test("an event does not wait for the deletion of a webhook, and is not sent to it", async () => {
  await using api = await startApi()
  const { id } = await hook(api, "http://127.0.0.1:9/")
  const { id: other } = await hook(api, "http://127.0.0.1:9/")

  await api.db.transaction(async (tx) => {
    await deleteWebhook(tx, { workspaceId: api.workspaceId, isOperator: false }, id)
    let isTold = false
    const reported = warn(api, 1).then(() => {
      isTold = true
    })
    await until(() => isTold, { what: "the event is committed" })
    await reported
  })

  const rows = await api.db.rows<{ webhook_id: string }>(sql`select webhook_id from webhook_deliveries`)
  assert.deepEqual(rows, [{ webhook_id: other }])
})

test("events are sent with a valid signature as they occur, only the subscribed ones (W1, W3)", async () => {
  await using api = await startApi()
  await using _loop = await startLoop(api)
  await using receiver = await startReceiver()
  const { id, signing_secret: secret } = await hook(api, receiver.url, { event_types: ["deployment.created"] })

  const { body: made } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  await until(() => receiver.calls.length === 1, { what: "the receiver was called" })

  const { headers, body, json } = receiver.calls[0] ?? assert.fail("no call")
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`
  const hmac = createHmac("sha256", Buffer.from(secret.slice(6), "base64"))
    .update(signed)
    .digest("base64")
  assert.equal(headers["webhook-signature"], `v1,${hmac}`)
  assert.deepEqual([json.type, json.data.deployment_id, json.data.name], ["deployment.created", made.id, "shop-bot"])
  assert.equal(body.includes("sk-very-secret"), false)
  const delivered = await tried(api, id, "delivered", 1)
  assert.deepEqual([delivered.id, delivered.reply_status], [headers["webhook-id"], 200])
})

test("a failing receiver is called again with the same id until it accepts (W2, W3)", async () => {
  await using api = await startApi()
  await using _loop = await startLoop(api)
  await using receiver = await startReceiver((reply, n) => reply.writeHead(n < 3 ? 503 : 204).end())
  const { id } = await hook(api, receiver.url)

  await warn(api, 1)
  const first = await tried(api, id, "pending", 1)
  for (const n of [2, 3]) {
    await makeDue(api)
    await api.db.run(sql`select pg_notify('superstep_webhooks', '')`)
    await tried(api, id, n === 3 ? "delivered" : "pending", n)
  }

  assert.deepEqual([first.reply_status, first.failure], [503, "the answer had the status 503"])
  assert.equal(new Set(receiver.calls.map(({ headers }) => headers["webhook-id"])).size, 1)
})

test("a receiver that hangs, redirects, breaks off or is gone does not delay others (W5)", async () => {
  await using api = await startApi()
  // A call that takes longer on a busy machine is repeated.
  await using _loop = await startLoop(api, { timeoutMs: 1000 })
  await using hangs = await startReceiver(() => undefined)
  await using target = await startReceiver()
  await using redirects = await startReceiver((reply) => reply.writeHead(307, { location: target.url }).end())
  await using breaks = await startReceiver((reply) => void reply.destroy())
  await using gone = await startReceiver((reply) => reply.writeHead(410).end())
  await using slow = await startReceiver((reply) => reply.writeHead(200).write("o"))
  await using good = await startReceiver()
  const hooks = await Promise.all([hangs, redirects, breaks, gone, slow, good].map(({ url }) => hook(api, url)))

  await warn(api, 1)
  const facts = [
    /no answer within 1 s/,
    /redirect, which is not followed/,
    /hang up|ECONNRESET/,
    /410/,
    "delivered",
    "delivered",
  ]
  const ends = facts.map((fact, index) =>
    until(
      async () => {
        const [only] = await deliveries(api, hooks[index]?.id ?? "")
        return typeof fact === "string" ? only?.state === fact : fact.test(only?.failure ?? "") && only.state
      },
      { what: `the delivery tells ${fact}` },
    ),
  )

  const states = await Promise.all(ends)
  assert.deepEqual(states, ["pending", "pending", "pending", "dead", true, true])
  assert.equal(target.calls.length, 0)
})

test("receivers of one workspace that hang delay none of another one, and nobody asks the database meanwhile (W7)", async () => {
  await using api = await startApi()
  await using hangs = await startReceiver(() => undefined)
  await using good = await startReceiver()
  await hook(api, hangs.url)
  const { id } = (await api.callAsOther("POST", "/v2/webhooks", { body: { url: good.url } })).body
  const other = await api.db.row<{ workspace_id: string }>(sql`
    select workspace_id from webhooks where webhook_id = ${id}`)
  for (let n = 0; n < 40; n++) await warn(api, n)
  await warn({ db: api.db, workspaceId: other?.workspace_id ?? "" }, 40)
  let questions = 0
  const rows: TestApi["db"]["rows"] = (...asked) => {
    questions += 1
    return api.db.rows(...asked)
  }

  await using _loop = await startLoop({ ...api, db: { ...api.db, rows } })
  await until(() => good.calls.length > 0, { what: "the other workspace's receiver is called" })
  const asked = questions
  // A loop that asks without a pause asks about half as often.
  for (let n = 0; n < 300; n++) await api.db.row(sql`select 1`)

  assert.ok(hangs.calls.length < 8)
  assert.ok(questions - asked < 20, `${questions - asked} questions`)
})

test("a control plane that is killed during a call loses nothing, and two control planes call a receiver once (W2)", async () => {
  await using api = await startApi()
  await using receiver = await startReceiver((reply, n) => (n === 1 ? undefined : void reply.end()))
  const { id } = await hook(api, receiver.url)
  // The state that a process leaves when it dies during its call: taken, and nothing written.
  const dying = createDeliveryLoop({ db: api.db, key: api.key, log: silent, rules, timeoutMs: 60_000 })
  await dying.start()
  await warn(api, 1)
  await until(() => receiver.calls.length === 1, { what: "the first call is under way" })
  const held = await deliveries(api, id)

  await makeDue(api)
  await using _one = await startLoop(api)
  await using _two = await startLoop(api)
  await tried(api, id, "delivered", 2)
  await dying.stop()

  assert.deepEqual([held[0].state, held[0].tries], ["pending", 1])
  assert.deepEqual([receiver.calls.length, (await deliveries(api, id))[0].state], [2, "delivered"])
})

test("past events are sent again by id or by time, also those from before the webhook (W3)", async () => {
  await using api = await startApi()
  await using _loop = await startLoop(api)
  await using receiver = await startReceiver()
  await warn(api, 1)
  const { id } = await hook(api, receiver.url, { event_types: ["quota.warning"] })
  await warn(api, 2)
  const delivered = await tried(api, id, "delivered", 1)

  const all = await api.call("POST", `/v2/webhooks/${id}/replay`, { body: { since: "2020-01-01T00:00:00Z" } })
  await until(() => receiver.calls.length === 3, { what: "both were sent" })
  const again = { body: { event_ids: [delivered.event_id] }, headers: { "idempotency-key": "again" } }
  const one = await api.call("POST", `/v2/webhooks/${id}/replay`, again)
  await until(() => receiver.calls.length === 4, { what: "one was sent again" })
  const repeated = await api.call("POST", `/v2/webhooks/${id}/replay`, again)
  const nothing = await api.call("POST", `/v2/webhooks/${id}/replay`, { body: {} })

  assert.deepEqual([all.status, all.body.deliveries, one.body.deliveries], [202, 2, 1])
  assert.equal(nothing.status, 422)
  assert.equal(repeated.headers.get("idempotent-replayed"), "true")
  assert.deepEqual(numbers(receiver), [1, 2, 2, 2])
})

test("behind a proxy on the same machine, this machine may not be called (W4)", async () => {
  await using platform = await testPlatform()
  const create = async () => (await platform.call("POST", "/v2/webhooks", { url: "http://127.0.0.1:9/" })).status
  await platform.start()
  const alone = await create()
  await platform.kill()
  await platform.start({ SUPERSTEP_PUBLIC_URL: "https://superstep.example.org" })

  assert.deepEqual([alone, await create()], [201, 422])
})

test("an address in the operator's networks is refused at creation and at the call (W4)", async () => {
  await using api = await startApi({ webhookRules: { allowsLoopback: false, allowsPrivate: false } })
  await using open = await startApi()
  await using receiver = await startReceiver()
  const forbidden = ["http://127.0.0.1/", "http://localhost:1/", "http://2130706433/", "http://[::ffff:10.0.0.1]/"]
  const worse = [
    "http://169.254.169.254/latest",
    "http://10.1.2.3/",
    "ftp://example.com/",
    "x",
    "https://a:b@example.com/",
  ]

  const refused = await Promise.all(
    [...forbidden, ...worse].map((url) => api.call("POST", "/v2/webhooks", { body: { url } })),
  )
  const { id } = await hook(open, receiver.url)
  await using _loop = await startLoop(open, { allowsLoopback: false })
  await warn(open, 1)
  const judged = await tried(open, id, "pending", 1)

  assert.deepEqual(new Set(refused.map(({ status }) => status)), new Set([422]))
  assert.match(judged.failure, /this machine/)
  assert.equal(receiver.calls.length, 0)
})

test("webhooks of other workspaces are hidden, get no events and cannot be deleted; the secret is shown once (W6)", async () => {
  await using api = await startApi()
  await using _loop = await startLoop(api)
  await using mine = await startReceiver()
  await using theirs = await startReceiver()
  const { id, signing_secret: secret } = await hook(api, mine.url)
  await api.callAsOther("POST", "/v2/webhooks", { body: { url: theirs.url } })

  await warn(api, 1)
  await tried(api, id, "delivered", 1)
  const seen = await api.callAsOther("GET", `/v2/webhooks/${id}`)
  const removed = await api.callAsOther("DELETE", `/v2/webhooks/${id}`)
  const read = await api.call("GET", `/v2/webhooks/${id}`)
  const gone = await api.call("DELETE", `/v2/webhooks/${id}`)
  const after = await api.call("GET", `/v2/webhooks/${id}/deliveries`)

  assert.deepEqual([seen.status, removed.status, gone.status, after.status], [404, 404, 204, 404])
  assert.equal(theirs.calls.length, 0)
  const kept = await api.db.rows(sql`select to_jsonb(w)::text as t from webhooks w`)
  assert.equal(`${JSON.stringify(kept)}${read.text}`.includes(secret), false)
})

test("a delivery is retried for a day with growing delays", () => {
  const hours = delaysMs.reduce((sum, delay) => sum + delay, 0) / 3_600_000

  assert.ok(hours > 23 && hours <= 24, `${hours} hours`)
  assert.deepEqual(
    delaysMs.toSorted((a, b) => a - b),
    delaysMs,
  )
})
