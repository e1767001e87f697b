/** Clients that begin to follow a thread while a run executes, or after its end (V3). */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp } from "../testing/test-http.js"
import { addRun, newThread } from "../testing/thread-streams.js"
import { executing, framesOf, openEvents, startRun, summaryOf, untilTerminals } from "./testing/protocol-client.js"

const ending = {
  status: "interrupted",
  values: '{"x":1}',
  interrupts: '{"task":[{"id":"a","value":"ok?"}]}',
  next: ["n"],
} as const

test("a client that comes while a run executes gets the run's lifecycle, the state after it and its open interrupts", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const run = await executing(await addRun(http, threadId), http)
  const stream = await openEvents(http, threadId)
  await until(() => framesOf(stream).length === 1, { what: "the run is shown" })

  run.done(ending)
  await untilTerminals(() => framesOf(stream), 1)

  assert.equal(run.order.protocolEvents, false)
  const frames = framesOf(stream)
  assert.deepEqual(summaryOf(frames), ["lifecycle running", "values", "input.requested", "lifecycle interrupted"])
  assert.deepEqual(frames[1]?.params.data, { x: 1 })
  assert.deepEqual(frames[2]?.params.data, { interrupt_id: "a", payload: "ok?", value: "ok?" })
})

test("a client that comes just after a run has ended learns its end, the state after it and its open interrupts", async () => {
  await using http = await freshHttp()
  for (const isLogged of [false, true]) {
    const threadId = await newThread(http)
    const runId = await addRun(http, threadId, { stream_resumable: isLogged })
    ;(await executing(runId, http)).done(ending)
    const isOver = async () => {
      const { json } = await http.send("GET", `/threads/${threadId}/runs/${runId}`)
      return (json as { status: string }).status === "interrupted"
    }
    await until(isOver, { what: "the run is over" })
    await until(() => !http.server.streams.isExecuting(runId), { what: "its server has written its end" })

    const streams = [await openEvents(http, threadId), await openEvents(http, threadId)]
    for (const stream of streams) {
      await untilTerminals(() => framesOf(stream), 1)
      const frames = framesOf(stream)
      assert.deepEqual(summaryOf(frames), ["values", "input.requested", "lifecycle interrupted"])
      assert.deepEqual(frames[0]?.params.data, { x: 1 })
      assert.equal(frames[2]?.event_id, `synth:${runId}:interrupted`)
    }
    const next = await executing(await startRun(http, threadId, { multitaskStrategy: "enqueue" }), http)
    next.done()
    for (const stream of streams) await untilTerminals(() => framesOf(stream), 2)
  }
})

test("the sweep tells a client the end of a run that ended while the client began to follow", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const protocol = await openEvents(http, threadId)
  const older = await http.stream("GET", `/threads/${threadId}/stream`)
  older.ended.catch(() => undefined)
  const runId = randomUUID()

  await http.db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, attempt)
    values (${runId}, ${threadId}, ${randomUUID()}, 'agent', 'success', '{}', '{}', 'enqueue', 1)`)
  await untilTerminals(() => framesOf(protocol), 1)
  await until(() => older.events().length > 0, { what: "the end in the older protocol" })

  assert.equal(framesOf(protocol).at(-1)?.event_id, `synth:${runId}:completed`)
  assert.deepEqual(fieldsOf(older.events(), "event", "data"), [["end", { run_id: runId, status: "success" }]])
})
