/** The events of a thread for clients of the newer streaming protocol, wherever its runs execute (protocol-v2 §1.5, §1.7). */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { attemptOf } from "../testing/as-anyone.js"
import { freshHttp, startTestHttp } from "../testing/test-http.js"
import { serverDatabase } from "../testing/test-server.js"
import { newThread } from "../testing/thread-streams.js"
import {
  emitProtocol,
  everything,
  executing,
  framesOf,
  openEvents,
  sendCommand,
  startRun,
  summaryOf,
  untilTerminals,
} from "./testing/protocol-client.js"

test("a run.start makes the thread, and its stream has the run from its first event on, in the protocol's form", async () => {
  await using http = await freshHttp()
  const threadId = randomUUID()

  const runId = await startRun(http, threadId)
  const run = await executing(runId, http)
  emitProtocol(run, "values", { x: 1 })
  emitProtocol(run, "messages", { event: "message-start" }, ["model:1"])
  emitProtocol(run, "custom:progress", { name: "progress", payload: 1 })
  run.done({ values: '{"x":1}' })
  const stream = await openEvents(http, threadId)
  await untilTerminals(() => framesOf(stream), 1)
  const frames = framesOf(stream)

  assert.equal(run.order.protocolEvents, true)
  assert.equal(stream.headers.get("content-type"), "text/event-stream")
  const summary = ["lifecycle running", "values", "messages model:1", "custom", "lifecycle completed"]
  assert.deepEqual(summaryOf(frames), summary)
  const ids = [`synth:${runId}:running`, `${runId}:2`, `${runId}:3`, `${runId}:4`, `synth:${runId}:completed`]
  assert.deepEqual(fieldsOf(frames, "event_id"), ids)
  assert.deepEqual(frames[0]?.params.data, { event: "running", graph_name: "agent" })
  assert.deepEqual(frames[4]?.params.data, { event: "completed", graph_name: "agent" })
  for (const { type, params } of frames) {
    assert.equal(type, "event")
    assert.equal(typeof params.timestamp, "number")
  }
  for (const [n, { seq }] of frames.entries()) assert.ok(n === 0 || seq > (frames[n - 1]?.seq ?? 0))
  const [first] = stream.events()
  assert.equal(first?.event, "lifecycle")
  assert.equal(first?.id, String(frames[0]?.seq))
})

test("a client goes on after a position or the id of an event, without a hole or a repeat", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const runId = await startRun(http, threadId)
  const run = await executing(runId, http)
  for (let x = 0; x < 4; x++) emitProtocol(run, "values", { x })
  run.done()
  const whole = await openEvents(http, threadId)
  await untilTerminals(() => framesOf(whole), 1)
  const frames = framesOf(whole)
  const third = frames[2]

  const since = await openEvents(http, threadId, { ...everything, since: third?.seq })
  const byPlace = await openEvents(http, threadId, everything, { "last-event-id": String(third?.seq) })
  const byId = await openEvents(http, threadId, everything, { "last-event-id": String(third?.event_id) })
  const tooFar = await openEvents(http, threadId, { ...everything, since: (frames.at(-1)?.seq ?? 0) + 3 })
  for (const stream of [since, byPlace, byId]) {
    await untilTerminals(() => framesOf(stream), 1)
    assert.deepEqual(framesOf(stream), frames.slice(3))
  }
  assert.deepEqual(framesOf(tooFar), [])
})

test("a client that follows before the thread exists gets it from its first event on", async () => {
  await using db = await serverDatabase()
  await using one = await startTestHttp(db)
  await using two = await startTestHttp(db)
  const threadId = randomUUID()
  const early = await Promise.all([openEvents(one, threadId), openEvents(two, threadId)])

  const runId = await startRun(one, threadId)
  const run = await executing(runId, one, two)
  emitProtocol(run, "values", { x: 1 })
  run.done()

  for (const stream of early) {
    assert.equal(stream.status, 200)
    await untilTerminals(() => framesOf(stream), 1)
    assert.deepEqual(summaryOf(framesOf(stream)), ["lifecycle running", "values", "lifecycle completed"])
  }
})

test("a deleted thread is 404 for new clients, and ends the stream of those that follow it", async () => {
  await using http = await freshHttp()
  const threadId = randomUUID()
  const run = await executing(await startRun(http, threadId), http)
  run.done()
  const stream = await openEvents(http, threadId)
  await untilTerminals(() => framesOf(stream), 1)

  await http.send("DELETE", `/threads/${threadId}`)

  await stream.ended
  const again = await openEvents(http, threadId)
  assert.equal(again.status, 404)
})

test("a run that the older protocol starts is on the stream, and its own clients get no protocol event", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const stream = await openEvents(http, threadId)
  const older = await http.stream("GET", `/threads/${threadId}/stream`)
  older.ended.catch(() => undefined)

  const response = http.stream("POST", `/threads/${threadId}/runs/stream`, { assistant_id: "agent" })
  const run = await until(() => [...http.server.workers.running.values()][0], { what: "the run executes" })
  run.emit("values", { x: 1 })
  emitProtocol(run, "values", { x: 1 })
  run.emit("values", { x: 2 })
  emitProtocol(run, "values", { x: 2 })
  run.done({ values: '{"x":2}' })
  const own = await response
  await own.ended
  await untilTerminals(() => framesOf(stream), 1)
  await until(() => older.events().some(({ event }) => event === "end"), { what: "the older stream has the end" })

  assert.deepEqual(summaryOf(framesOf(stream)), ["lifecycle running", "values", "values", "lifecycle completed"])
  const names = ["metadata", "values", "values", "end"]
  assert.deepEqual(fieldsOf(own.events(), "event"), names)
  assert.deepEqual(fieldsOf(older.events(), "event"), names)
  const rejoined = await http.stream("GET", `/threads/${threadId}/stream`, undefined, { "last-event-id": "-" })
  rejoined.ended.catch(() => undefined)
  await until(() => rejoined.events().some(({ event }) => event === "end"), { what: "the log was read" })
  assert.deepEqual(rejoined.events(), older.events())
})

test("a failed run says why in plain text, before and after it was lost too often, and a client continues after each event, also with U+0000", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const stream = await openEvents(http, threadId)
  const run = await executing(await startRun(http, threadId), http)
  run.done({ status: "error", error: { error: "TypeError", message: "a\u0000b" } })
  await untilTerminals(() => framesOf(stream), 1)
  ;(await executing(await startRun(http, threadId), http)).done()
  await untilTerminals(() => framesOf(stream), 2)
  const [begun, failed, ...next] = framesOf(stream)
  const after = async (eventId: string | undefined) => {
    const again = await openEvents(http, threadId, everything, { "last-event-id": eventId ?? "" })
    assert.equal(again.status, 200)
    await until(() => framesOf(again).at(-1)?.seq === next.at(-1)?.seq, { what: "the last event came" })
    again.leave()
    return summaryOf(framesOf(again))
  }
  const resumed = [await after(begun?.event_id), await after(failed?.event_id)]
  const lost = await startRun(http, threadId)
  for (const attempt of [1, 2, 3]) (await attemptOf(http.server, lost, attempt)).die()
  await untilTerminals(() => framesOf(stream), 3)

  const rest = framesOf(stream).slice(2 + next.length)
  const last = rest.at(-1)
  assert.deepEqual(failed?.params.data, { event: "failed", graph_name: "agent", error: "a\u0000b" })
  const completed = ["lifecycle running", "lifecycle completed"]
  assert.deepEqual(resumed, [["lifecycle failed", ...completed], completed])
  assert.equal(last?.params.data.event, "failed")
  assert.match(String(last?.params.data.error), /^the process that executed the run died 3 times/)
  // On a busy machine the sweep of overdue ends may write this end, with the state that is left before it.
  const ids = [`synth:${lost}:running`, `synth:${lost}:running:2`, `synth:${lost}:running:3`, `synth:${lost}:failed`]
  const ofRun = rest.filter(({ method }) => method === "lifecycle")
  assert.deepEqual(fieldsOf(ofRun, "event_id"), ids)
})

test("a waiting run that is cancelled is interrupted, and so is a running one; a rolled back run, too", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const stream = await openEvents(http, threadId)
  const running = await startRun(http, threadId)
  await executing(running, http)
  const waiting = await startRun(http, threadId)

  await http.send("POST", `/threads/${threadId}/runs/${waiting}/cancel`)
  await http.send("POST", `/threads/${threadId}/runs/${running}/cancel`)
  await untilTerminals(() => framesOf(stream), 2)
  const third = await startRun(http, threadId)
  await executing(third, http)
  await startRun(http, threadId, { multitaskStrategy: "rollback" })
  await untilTerminals(() => framesOf(stream), 3)

  assert.deepEqual(fieldsOf(framesOf(stream).slice(0, 5), "event_id"), [
    `synth:${running}:running`,
    `synth:${waiting}:interrupted`,
    `synth:${running}:interrupted`,
    `synth:${third}:running`,
    `synth:${third}:interrupted`,
  ])
})

test("after the crash of a run's server its client has each event once, with the same ids as a new client", async () => {
  await using db = await serverDatabase()
  await using one = await startTestHttp(db, { leaseMs: 3_000, slots: 1 })
  await using two = await startTestHttp(db, { leaseMs: 3_000, slots: 1 })
  const threadId = await newThread(two)
  const stream = await openEvents(two, threadId)
  await until(() => one.server.streams.followed.isFollowedByProtocol(threadId), { what: "the other server knows" })
  const runId = await startRun(one, threadId)
  const first = await executing(runId, one)
  emitProtocol(first, "values", { x: 1 })
  await until(() => framesOf(stream).length === 2, { what: "the first events came" })

  await one.server.crash()
  const second = await executing(runId, two)
  emitProtocol(second, "values", { x: 2 })
  second.done()
  await untilTerminals(() => framesOf(stream), 1)
  const replayed = await openEvents(two, threadId)
  await untilTerminals(() => framesOf(replayed), 1)

  assert.deepEqual(framesOf(replayed), framesOf(stream))
  const summary = ["lifecycle running", "values", "lifecycle running", "values", "lifecycle completed"]
  assert.deepEqual(summaryOf(framesOf(stream)), summary)
})

test("an unknown channel matches nothing, and an unknown key of the filter is 400", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)

  const open = await openEvents(http, threadId, { channels: ["nope"] })
  const refused = await http.send("POST", `/threads/${threadId}/stream/events`, { channels: ["values"], foo: 1 })

  assert.equal(open.status, 200)
  assert.equal(refused.status, 400)
  assert.match(refused.text, /foo/)
  const reply = await sendCommand(http, threadId, "subscription.subscribe", everything)
  assert.equal(reply.error, "not_supported")
})

test("a thread runs several assistants, one after the other", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const { json } = await http.send("POST", "/assistants", { graph_id: "agent", name: "another" })
  const another = (json as { assistant_id: string }).assistant_id
  const threadId = randomUUID()

  ;(await executing(await startRun(http, threadId), http)).done()
  ;(await executing(await startRun(http, threadId, { assistant_id: another }), http)).done()
  const stream = await openEvents(http, threadId, { channels: ["lifecycle"] })
  await untilTerminals(() => framesOf(stream), 2)

  const events = framesOf(stream).map(({ params }) => params.data.event)
  assert.deepEqual(events, ["running", "completed", "running", "completed"])
})

test("the terminal event is in the log as soon as the run is over", async () => {
  await using http = await freshHttp()
  const threadId = randomUUID()
  const runId = await startRun(http, threadId)
  const run = await executing(runId, http)
  emitProtocol(run, "values", { x: 1 })
  // One statement sees one moment: both are there, or none.
  const seen = () =>
    http.db.row<{ status: string; isTold: boolean }>(sql`
      select status, exists (
        select from run_events e where e.run_id = r.run_id and event = 'protocol:lifecycle' and data like '%completed%'
      ) as "isTold"
      from runs r where run_id = ${runId}`)

  run.done()
  const isOver = async () => {
    const row = await seen()
    return row?.status === "success" || row?.isTold ? row : undefined
  }
  const over = await until(isOver, { what: "the run is over" })

  assert.deepEqual(over, { status: "success", isTold: true })
})
