/** A thread's events and commands on a WebSocket (protocol-v2 §1.6). */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp, guardedProject, startTestHttp } from "../testing/test-http.js"
import { serverDatabase } from "../testing/test-server.js"
import {
  type CommandReply,
  emitProtocol,
  everything,
  executing,
  framesOf,
  openEvents,
  startRun,
  summaryOf,
  untilTerminals,
} from "./testing/protocol-client.js"
import { Client, connect } from "./testing/socket-client.js"

const root = { channels: ["values", "lifecycle", "input"], namespaces: [[]], depth: 0 }

test("the reply comes before the past; live events come once for several subscriptions", async () => {
  await using http = await freshHttp()
  const threadId = randomUUID()
  const past = await executing(await startRun(http, threadId), http)
  past.done()
  const stream = await openEvents(http, threadId)
  await untilTerminals(() => framesOf(stream), 1)
  const client = await connect(http, threadId)

  const first = await client.command("subscription.subscribe", root)
  await untilTerminals(() => client.events, 1)
  await client.command("subscription.subscribe", everything)
  await untilTerminals(() => client.events, 2)
  const run = await executing(await startRun(http, threadId), http)
  emitProtocol(run, "values", { x: 1 })
  emitProtocol(run, "messages", { event: "message-start" }, ["model:1"])
  run.done()
  await untilTerminals(() => framesOf(stream), 2)
  await untilTerminals(() => client.events, 3)

  assert.equal(first.result.replayed_events, 2)
  assert.deepEqual(fieldsOf(client.messages.slice(0, 3), "type"), ["success", "event", "event"])
  // Subscriptions outlive runs, and their replies are not repeated with the next one.
  assert.equal(client.messages.filter(({ type }) => type === "success").length, 2)
  // The past comes for each subscription, since each shows it; what follows comes once.
  assert.deepEqual(summaryOf(client.events), [
    ...["lifecycle running", "lifecycle completed"],
    ...["lifecycle running", "lifecycle completed"],
    ...["lifecycle running", "values", "messages model:1", "lifecycle completed"],
  ])
})

test("a later subscription gets its past before what comes next, and the others get nothing twice", async () => {
  await using http = await freshHttp()
  const threadId = randomUUID()
  const client = await connect(http, threadId)
  await client.command("subscription.subscribe", { channels: ["lifecycle"] })
  const run = await executing(await startRun(http, threadId), http)
  emitProtocol(run, "values", { x: 1 })
  await until(() => client.events.length > 0, { what: "the run has begun" })

  const states = () => client.events.filter(({ method }) => method === "values")
  const added = client.command("subscription.subscribe", { channels: ["values"] })
  let emitted = 1
  for (; states().length === 0; await new Promise((resolve) => setTimeout(resolve, 1)))
    emitProtocol(run, "values", { x: ++emitted })
  await added
  run.done()
  await untilTerminals(() => client.events, 1)

  const numbers = states().map(({ params }) => params.data.x)
  const all = Array.from({ length: emitted }, (_, n) => n + 1)
  assert.deepEqual(numbers, all)
  assert.equal(client.events.at(-1)?.method, "lifecycle")
  assert.equal(client.events.length, emitted + 2)
})

test("after unsubscribe nothing comes, and an unknown subscription is an error", async () => {
  await using http = await freshHttp()
  const threadId = randomUUID()
  const client = await connect(http, threadId)
  const { result } = await client.command("subscription.subscribe", everything)
  const kept = await client.command("subscription.subscribe", { channels: ["lifecycle"] })

  const gone = await client.command("subscription.unsubscribe", { subscription_id: result.subscription_id })
  const unknown = await client.command("subscription.unsubscribe", { subscription_id: "x" })
  const run = await executing(await startRun(http, threadId), http)
  emitProtocol(run, "values", { x: 1 })
  run.done()
  await untilTerminals(() => client.events, 1)

  assert.equal(kept.type, "success")
  assert.deepEqual(gone.result, {})
  assert.equal(unknown.error, "no_such_subscription")
  assert.deepEqual(summaryOf(client.events), ["lifecycle running", "lifecycle completed"])
})

test("a client that reconnects learns what it missed, and that its subscriptions are gone", async () => {
  await using http = await freshHttp()
  const threadId = randomUUID()
  const first = await connect(http, threadId)
  const { result } = await first.command("subscription.subscribe", everything)
  const runId = await startRun(http, threadId)
  const run = await executing(runId, http)
  emitProtocol(run, "values", { x: 1 })
  emitProtocol(run, "lifecycle", { event: "started", graph_name: "sub" }, ["sub:1"])
  await until(() => first.events.length === 3, { what: "the first events came" })
  const [begun, values] = first.events
  first.ws.terminate()
  run.done()
  const again = await connect(http, threadId)
  await again.command("subscription.subscribe", everything)
  await untilTerminals(() => again.events, 1)

  const subscriptions = [result.subscription_id]
  const missed = async (last_event_id?: string) => {
    const reply = await again.command("subscription.reconnect", { run_id: runId, last_event_id, subscriptions })
    assert.equal(reply.result.restored, false)
    return reply.result.missed_events
  }

  const counts = [await missed(), await missed(begun?.event_id), await missed(values?.event_id)]
  assert.deepEqual([...counts, await missed(String(values?.seq))], [4, 3, 2, 2])
  const { result: known } = await again.command("subscription.reconnect", { run_id: runId })
  assert.deepEqual(known.current_namespaces, [
    { namespace: [], status: "completed" },
    { namespace: ["sub:1"], status: "started" },
  ])
  const unknown = await again.command("subscription.reconnect", { run_id: randomUUID() })
  assert.equal(unknown.error, "no_such_run")
})

test("what is no command is an error of no command, and the connection goes on; a GET without a handshake says what to use", async () => {
  await using http = await freshHttp()
  const client = await connect(http, randomUUID())

  client.ws.send("{")
  client.ws.send('{"method":"run.start"}')
  client.ws.send(Buffer.from("{}"))
  const empty = await client.command("subscription.subscribe", { channels: [] })
  const channel = await client.command("subscription.subscribe", { channels: ["nope"] })
  const unknown = await client.command("nope")
  const assistant = await client.command("run.start", { assistant_id: "nope" })
  const plain = await http.send("GET", `/threads/${randomUUID()}/stream/events`)

  const short = (client.messages as CommandReply[]).map(({ id, error, message }) => [id, error, message])
  assert.deepEqual(short.slice(0, 3), [
    [null, "invalid_argument", "Protocol commands must be valid JSON."],
    [null, "invalid_argument", "Protocol commands must include an integer id and string method."],
    [null, "invalid_argument", "Protocol commands must be valid JSON."],
  ])
  assert.equal(empty.message, "subscription.subscribe requires a non-empty channels array.")
  assert.equal(channel.message, "subscription.subscribe received an unsupported channel.")
  assert.equal(unknown.error, "unknown_command")
  assert.equal(assistant.error, "invalid_argument")
  assert.match(assistant.message, /^No assistant found/)
  assert.equal(plain.status, 400)
  assert.match(plain.text, /use POST/)
})

test("a deleted thread closes the socket with 4404, and a stopping server with 1012", async () => {
  await using db = await serverDatabase()
  const http = await startTestHttp(db)
  const [gone, kept] = [randomUUID(), randomUUID()]
  for (const threadId of [gone, kept]) (await executing(await startRun(http, threadId), http)).done()
  const clients = [await connect(http, gone), await connect(http, kept)]
  for (const client of clients) {
    await client.command("subscription.subscribe", everything)
    await untilTerminals(() => client.events, 1)
  }

  await http.send("DELETE", `/threads/${gone}`)
  await until(() => clients[0]?.code !== undefined, { what: "the socket is closed" })
  const refused = new Client(http, gone)
  await until(() => refused.status !== undefined, { what: "the handshake is refused" })
  await http[Symbol.asyncDispose]()
  await until(() => clients[1]?.code !== undefined, { what: "the other socket is closed" })

  assert.deepEqual(fieldsOf(clients, "code"), [4404, 1012])
  assert.equal(refused.status, 404)
})

test("a handshake needs the key, in a header or as a subprotocol, which is not accepted as one", async () => {
  await using http = await freshHttp({ apiKeys: "secret" })
  const asProtocol = (key: string) => `x-api-key.${Buffer.from(key).toString("base64url")}`

  const inHeader = await connect(http, randomUUID(), [], { "x-api-key": "secret" })
  const asOne = await connect(http, randomUUID(), [asProtocol("secret"), "agent-protocol"])
  const without = new Client(http, randomUUID())
  const wrong = new Client(http, randomUUID(), [asProtocol("other"), "agent-protocol"])
  await until(() => without.status !== undefined && wrong.status !== undefined, { what: "both are refused" })

  assert.equal(inHeader.ws.protocol, "")
  assert.equal(asOne.ws.protocol, "agent-protocol")
  assert.deepEqual([without.status, wrong.status], [401, 401])
})

test("a socket that reads slowly reads from the log, and has every event once when it reads on", async () => {
  await using http = await freshHttp()
  const threadId = randomUUID()
  const client = await connect(http, threadId)
  await client.command("subscription.subscribe", { channels: ["values", "lifecycle"] })
  const run = await executing(await startRun(http, threadId), http)
  await until(() => client.events.length === 1, { what: "the run has started" })

  client.ws.pause()
  const text = "x".repeat(200_000)
  for (let n = 0; n < 100; n++) await emitProtocol(run, "values", { n, text })
  run.done()
  await until(() => http.server.streams.protocol.readFromLog().includes(threadId), { what: "the socket is behind" })
  client.ws.resume()
  await untilTerminals(() => client.events, 1)

  const values = client.events.filter(({ method }) => method === "values")
  const numbers = values.map(({ params }) => params.data.n)
  const all = Array.from({ length: 100 }, (_, n) => n)
  assert.deepEqual(numbers, all)
})

const owners = { ...guardedProject, auth: "./src/auth.ts:auth" }

const [ada, bob] = ["ada", "bob"].map((name) => ({ authorization: `Bearer ${name}-token` }))

test("V5: a socket that is older than another user's thread learns nothing of it", async () => {
  await using http = await freshHttp({ gate: owners })
  const threadId = randomUUID()
  const [mine, strangers] = [await connect(http, threadId, [], ada), await connect(http, threadId, [], bob)]
  const early = await strangers.command("subscription.unsubscribe", { subscription_id: "x" })
  const started = await mine.command("run.start", { assistant_id: "agent", input: {} })
  const run_id = started.result.run_id as string
  await executing(run_id, http)

  const commands = [
    ["subscription.reconnect", { run_id }],
    ["subscription.subscribe", everything],
    ["agent.getTree", { run_id }],
    ["state.get", {}],
    ["run.start", { assistant_id: "agent", input: {} }],
  ] as const

  assert.equal(early.error, "no_such_subscription")
  for (const [method, params] of commands) {
    const { type, error, message, result } = await strangers.command(method, params)
    assert.deepEqual([type, error, result], ["error", "invalid_argument", undefined], method)
    assert.match(message, /not found/, method)
  }
  assert.deepEqual(strangers.events, [])
  const known = await mine.command("subscription.reconnect", { run_id })
  assert.deepEqual(known.result.current_namespaces, [{ namespace: [], status: "running" }])
})
