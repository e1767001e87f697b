/** The commands of the newer streaming protocol (protocol-v2 §1.4). */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { ExactNumber } from "@superstep/toolkit/http/exact-number"
import { printJson } from "@superstep/toolkit/http/json-printer"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp } from "../testing/test-http.js"
import { newThread } from "../testing/thread-streams.js"
import {
  commandOf,
  emitProtocol,
  executing,
  firstInterrupt as first,
  framesOf,
  interrupted,
  interrupts,
  openEvents,
  secondInterrupt as second,
  sendCommand,
  startRun,
  summaryOf,
  untilTerminals,
} from "./testing/protocol-client.js"

test("a question is answered as soon as it is read, before the run that asks it is over", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const threadId = randomUUID()
  const stream = await openEvents(http, threadId)
  const asking = await executing(await startRun(http, threadId), http)
  const question = { interrupt_id: first, payload: "\u0000?", value: "\u0000?" }
  await emitProtocol(asking, "input.requested", question, ["node:1"])
  await until(() => framesOf(stream).find(({ method }) => method === "input.requested"), { what: "the question" })
  const other = await sendCommand(http, threadId, "input.respond", { interrupt_id: "c".repeat(32), response: 1 })

  const replied = sendCommand(http, threadId, "input.respond", { interrupt_id: first, response: "yes" })
  // The reply has to wait for the run's end: this request is answered while it waits.
  const tree = await sendCommand(http, threadId, "agent.getTree", {})
  asking.done({ status: "interrupted", next: ["node"], values: "{}", interrupts })
  const reply = await replied
  const answer = await until(() => [...http.server.workers.running.values()][0], { what: "the answer executes" })
  stream.leave()

  assert.equal(other.error, "no_such_interrupt")
  assert.equal(tree.type, "success")
  assert.equal(reply.type, "success", reply.message)
  assert.deepEqual(commandOf(answer), { resume: { [first]: "yes" } })
})

test("a run that starts at once is committed with its first events; one that waits gets them when it starts", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const threadId = randomUUID()
  const events = (runId: string) =>
    http.db.rows<{ event: string; isOfRun: boolean; position: number }>(sql`
      select e.event, e.created_at = r.created_at as "isOfRun", e.position from run_events e join runs r on r.run_id = e.run_id
      where e.run_id = ${runId} order by e.position`)

  const first = await sendCommand(http, threadId, "run.start", { assistant_id: "agent", input: {} })
  const second = await sendCommand(http, threadId, "run.start", { assistant_id: "agent", input: {} })
  const [ofFirst, ofSecond] = [await events(`${first.result.run_id}`), await events(`${second.result.run_id}`)]

  const logged = ofFirst.map(({ event, isOfRun }) => `${event} ${isOfRun}`)
  assert.deepEqual(logged, ["metadata true", "protocol:lifecycle true"])
  assert.deepEqual(ofSecond, [])
  assert.deepEqual([first.meta.applied_through_seq, second.meta.applied_through_seq], [0, ofFirst.at(-1)?.position])
})

test("answers are one run that resumes by id; its stream begins with the answered ids", async () => {
  await using http = await freshHttp()
  const threadId = await interrupted(http)
  const responses = [
    { namespace: [], interrupt_id: first, response: "yes" },
    { namespace: [], interrupt_id: second, response: null },
  ]

  const reply = await sendCommand(http, threadId, "input.respond", { responses, strict_resume: true, goto: "node" })
  const run = await until(() => [...http.server.workers.running.values()][0], { what: "the run executes" })
  const since = reply.meta.applied_through_seq
  const stream = await openEvents(http, threadId, { channels: ["lifecycle", "input"], since })
  run.done()
  await untilTerminals(() => framesOf(stream), 1)

  assert.deepEqual(reply.result, {})
  assert.deepEqual(commandOf(run), { resume: { [first]: "yes", [second]: null }, goto: "node" })
  assert.equal(JSON.parse(run.order.config).configurable.__pregel_strict_resume, true)
  assert.deepEqual(summaryOf(framesOf(stream)), ["lifecycle running", "input.answered", "lifecycle completed"])
  assert.deepEqual(framesOf(stream)[1]?.params.data, { interrupt_ids: [first, second] })
})

test("a number that the graph cannot hold is named where the client's command has it", async () => {
  await using http = await freshHttp()
  const threadId = await interrupted(http)
  const { workers } = http.server
  workers.report = () => ({ graphs: workers.graphs, failed: [], languages: new Map([["agent", "javascript"]]) })
  const n = new ExactNumber("12345678901234567890")
  const pathsOf = async (method: string, params: object) => {
    const body = printJson({ id: 1, method, params }).text
    const { status, text } = await http.send("POST", `/threads/${threadId}/commands`, body)
    assert.ok(status === 422 || text.includes("invalid_argument"), text)
    return [...text.matchAll(/(\w+(\.[\w-]+)+): a JavaScript graph cannot hold/g)].map(([, path]) => path).sort()
  }
  const start = { assistant_id: "agent" }
  const responses = [
    { interrupt_id: second, response: 1 },
    { interrupt_id: first, response: { a: n } },
  ]

  const found = [
    await pathsOf("input.respond", { interrupt_id: first, response: { a: [n] } }),
    await pathsOf("input.respond", { responses, update: { b: n }, config: { configurable: { c: n } } }),
    await pathsOf("run.start", { ...start, input: { a: n } }),
    await pathsOf("run.start", { ...start, input: { lg_name: "Command", resume: n, update: { b: n } } }),
    await pathsOf("run.start", { ...start, input: null, metadata: { a: n } }),
  ]

  assert.deepEqual(found, [
    ["params.response.a.0"],
    ["params.config.configurable.c", "params.responses.1.response.a", "params.update.b"],
    ["params.input.a"],
    ["params.input.resume", "params.input.update.b"],
    ["params.metadata.a"],
  ])
})

test("an answer that fits nothing is refused with the reason, and creates no run", async () => {
  await using http = await freshHttp()
  const threadId = await interrupted(http)
  const empty = await newThread(http)
  const respond = async (thread: string, params: object) => {
    const { type, error, message } = await sendCommand(http, thread, "input.respond", params)
    assert.equal(type, "error")
    return [error, message]
  }

  const missing = await respond(threadId, { response: 1 })
  assert.deepEqual(missing, ["invalid_argument", "input.respond requires an interrupt_id."])
  assert.equal((await respond(threadId, { interrupt_id: "c".repeat(32), response: 1 }))[0], "no_such_interrupt")
  assert.equal((await respond(empty, { interrupt_id: first, response: 1 }))[0], "no_such_run")
  await startRun(http, threadId, { input: null })
  assert.equal((await respond(threadId, { interrupt_id: first, response: 1 }))[0], "no_such_interrupt")
  assert.equal(http.server.workers.started.length, 2)
})

test("a refused strict answer says which ids were given and which are open", async () => {
  await using http = await freshHttp()
  const threadId = await interrupted(http)
  const stream = await openEvents(http, threadId, { channels: ["lifecycle"] })
  await sendCommand(http, threadId, "input.respond", { interrupt_id: first, response: 1, strict_resume: true })
  const run = await until(() => [...http.server.workers.running.values()][0], { what: "the run executes" })

  const open = JSON.stringify({ task: [{ id: second, value: "two?" }] })
  const unknown = { error: "UnknownInterruptError", message: "no" }
  run.done({ status: "error", error: unknown, values: "{}", interrupts: open })
  await untilTerminals(() => framesOf(stream), 2)

  const { event, error, ...refusal } = framesOf(stream).at(-1)?.params.data ?? {}
  assert.deepEqual([event, error], ["failed", "no"])
  const ids = { interrupt_ids: [first], pending_ids: [second] }
  assert.deepEqual(refusal, { graph_name: "agent", reason: "not_pending", ...ids })
})

test("the input of an interrupted thread is the answer, unless the run starts from a checkpoint or has none", async () => {
  await using http = await freshHttp()

  const answered = await executing(await startRun(http, await interrupted(http), { input: "yes" }), http)
  const without = await executing(await startRun(http, await interrupted(http), { input: null }), http)
  const command = { lg_name: "Command", resume: "go", goto: [] }
  const commanded = await executing(await startRun(http, await interrupted(http), { input: command }), http)
  const fresh = await executing(await startRun(http, randomUUID(), { input: { x: 1 } }), http)

  assert.deepEqual([commandOf(answered), answered.order.input], [{ resume: "yes" }, ""])
  assert.deepEqual([commandOf(without), without.order.input], [null, ""])
  assert.deepEqual(commandOf(commanded), { resume: "go" })
  assert.deepEqual([commandOf(fresh), fresh.order.input], [null, '{"x":1}'])
})

test("a reply names the place before the new run, so that no client skips any of it", async () => {
  await using http = await freshHttp()
  const threadId = randomUUID()
  const run = await executing(await startRun(http, threadId), http)
  run.done()
  const all = await openEvents(http, threadId)
  await untilTerminals(() => framesOf(all), 1)

  const reply = await sendCommand(http, threadId, "run.start", { assistant_id: "agent" })
  const next = await executing(reply.result.run_id as string, http)
  const since = reply.meta.applied_through_seq
  const stream = await openEvents(http, threadId, { channels: ["lifecycle"], since })
  next.done()
  await untilTerminals(() => framesOf(stream), 1)

  assert.deepEqual(summaryOf(framesOf(stream)), ["lifecycle running", "lifecycle completed"])
  assert.equal(framesOf(stream)[0]?.event_id, `synth:${reply.result.run_id}:running`)
})

test("a message cannot be injected where nothing ran, into a subgraph, or in place of an answer", async () => {
  await using http = await freshHttp()
  const [empty, waiting] = [await newThread(http), await interrupted(http)]
  const message = { role: "user", content: "and a tea", name: "ada" }
  const refusal = async (threadId: string, params: object) => {
    const { error, message: text } = await sendCommand(http, threadId, "input.inject", params)
    return `${error}: ${text}`
  }

  assert.match(await refusal(empty, { message }), /^no_such_run/)
  assert.match(await refusal(waiting, { namespace: ["sub:1"], message }), /^no_such_namespace/)
  assert.match(await refusal(waiting, { message: { ...message, role: "tool" } }), /^invalid_argument/)
  const inPlaceOfAnswer = await refusal(waiting, { message })
  assert.equal(inPlaceOfAnswer, "invalid_argument: The thread waits for an answer: use input.respond.")
  assert.equal(http.server.workers.started.length, 1)
})

test("a request with an idempotency key starts one run", async () => {
  await using http = await freshHttp()
  const path = `/threads/${randomUUID()}/commands`
  const body = { id: 1, method: "run.start", params: { assistant_id: "agent" } }
  const send = () => http.send("POST", path, body, { "idempotency-key": "k1" })

  const [one, two] = [await send(), await send()]

  const runOf = ({ json }: { json: unknown }) => (json as { result: { run_id: string } }).result.run_id
  assert.equal(runOf(one), runOf(two))
  assert.equal(http.server.workers.started.length, 1)
})

test("what is no command is 400, an unknown one is an error reply, an unknown assistant 404; a refused run says why", async () => {
  await using http = await freshHttp()
  const threadId = randomUUID()
  const post = (body: unknown) => http.send("POST", `/threads/${threadId}/commands`, body)

  assert.equal((await post({ method: "run.start" })).status, 400)
  assert.equal((await post({ id: 1, method: "run.start", params: { assistant_id: "nope" } })).status, 404)
  assert.equal((await post({ id: 1, method: "state.get", params: {} })).status, 404)
  assert.equal((await sendCommand(http, threadId, "nope")).error, "unknown_command")
  assert.equal((await sendCommand(http, threadId, "toString")).error, "unknown_command")
  assert.equal((await sendCommand(http, threadId, "subscription.reconnect")).error, "not_supported")
  const { error, message } = await sendCommand(http, threadId, "run.start", { input: {} })
  assert.deepEqual([error, message], ["invalid_argument", "run.start requires an assistant_id."])
  await startRun(http, threadId)
  const refused = { assistant_id: "agent", multitask_strategy: "reject" }
  const busy = await sendCommand(http, threadId, "run.start", refused)
  assert.equal(busy.error, "invalid_argument")
  assert.match(busy.message, /^Thread is already running a task/)
})
