import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp } from "../testing/test-http.js"
import { addRun, newThread, startedRun } from "../testing/thread-streams.js"

const idOf = (value: unknown, key: string): string => String((value as Record<string, unknown>)[key])

test("a stream has the exact bytes of the wire format and ends with the run's status", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)

  const stream = await http.stream("POST", `/threads/${threadId}/runs/stream`, { assistant_id: "agent", input: {} })
  const run = await startedRun(http)
  run.emit("updates|sub:1234", { node: { text: "héllo\n" } })
  run.done()
  await stream.ended

  const runId = run.order.runId
  const lines = [
    `event: metadata\ndata: {"run_id":"${runId}","attempt":1}\nid: 0\n\n`,
    `event: updates|sub:1234\ndata: {"node":{"text":"héllo\\n"}}\nid: 1\n\n`,
    `event: end\ndata: {"run_id":"${runId}","status":"success"}\nid: 2\n\n`,
  ]
  assert.equal(stream.text(), lines.join(""))
  assert.equal(stream.headers.get("content-type"), "text/event-stream")
  assert.equal(stream.headers.get("cache-control"), "no-cache, no-transform")
  assert.equal(stream.headers.get("content-location"), `/threads/${threadId}/runs/${runId}`)
  assert.equal(stream.headers.get("location"), `/threads/${threadId}/runs/${runId}/stream`)
  assert.match(stream.headers.get("x-request-id") ?? "", /^[\w-]+$/)
})

test("an event reaches the client before the next one exists", async () => {
  await using http = await freshHttp()

  const stream = await http.stream("POST", "/runs/stream", { assistant_id: "agent", input: {} })
  const run = await startedRun(http)
  for (let n = 0; n < 5; n++) {
    run.emit("custom", n)
    await until(() => stream.events().at(-1)?.data === n, { what: `event ${n}` })
  }
  run.done()
  await stream.ended

  assert.equal(stream.headers.get("content-location"), `/runs/${run.order.runId}`)
  assert.equal(stream.events().length, 7)
})

test("a disconnecting client cancels its run only when it requested that", async () => {
  await using http = await freshHttp()

  const watching = await http.stream("POST", "/runs/stream", { assistant_id: "agent", input: {} })
  const goesOn = await startedRun(http, 0)
  const hasty = await http.stream("POST", "/runs/stream", { assistant_id: "agent", input: {}, on_disconnect: "cancel" })
  const stops = await startedRun(http, 1)
  watching.leave()
  hasty.leave()
  await until(() => stops.isCancelled, { what: "the run to be cancelled" })

  assert.equal(goesOn.isCancelled, false)
  goesOn.done()
})

test("cancel returns 202 at once, and 204 with wait; a thread's id is case-insensitive", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)

  const first = await addRun(http, threadId)
  const replies = [await http.send("POST", `/threads/${threadId}/runs/${first}/cancel?wait=0&action=interrupt`)]
  const second = await addRun(http, threadId)
  replies.push(await http.send("POST", `/threads/${threadId}/runs/${second}/cancel?wait=1`))
  const run = await http.send("GET", `/threads/${threadId.toUpperCase()}/runs/${second}`)

  assert.deepEqual(fieldsOf(replies, "status"), [202, 204])
  assert.equal(idOf(run.json, "status"), "interrupted")
})

test("a unit rejects requests without its token", async () => {
  await using http = await freshHttp({ unitToken: "sesame", revisionId: "r1" })
  const token = { "x-superstep-unit": "sesame" }

  const refused = await http.send("GET", "/ok")
  const served = await http.send("GET", "/ok?check_db=1", undefined, token)
  const before = await http.send("GET", "/internal/status", undefined, token)
  await http.send("POST", "/internal/activate", undefined, token)
  const after = await http.send("GET", "/internal/status", undefined, token)

  assert.equal(refused.status, 401)
  assert.deepEqual(served.json, { ok: true })
  assert.equal(served.headers.get("x-revision-id"), "r1")
  assert.equal(idOf(before.json, "serving"), "false")
  assert.equal(idOf(after.json, "serving"), "true")
  assert.deepEqual((after.json as { worker_crashes: unknown }).worker_crashes, { count: 0, last: null })
})
