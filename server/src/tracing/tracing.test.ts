import assert from "node:assert/strict"
import { test } from "node:test"
import type { Span } from "@superstep/protocol/worker/frames"
import { startCollector } from "@superstep/toolkit/testing/collector"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp } from "../testing/test-http.js"
import { startTracing, tracesUrl } from "./start-tracing.js"

const own = { version: "0.0.0", hasContent: false }

async function tracingTo({ url }: { readonly url: string }, hasContent = false) {
  const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: url }, { ...own, hasContent })
  return tracing ?? assert.fail("nothing is traced")
}

test("without a collector nothing is traced", async () => {
  assert.equal(await startTracing({}, own), undefined)
  const disabled = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://x", OTEL_SDK_DISABLED: "true" }
  assert.equal(await startTracing(disabled, own), undefined)
})

test("a collector is named by its address for traces, or by one for all signals", () => {
  const all = "http://user:key@c:4318/"
  const ofTraces = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://c", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://t" }
  assert.equal(tracesUrl({ OTEL_EXPORTER_OTLP_ENDPOINT: all }), "http://user:key@c:4318/v1/traces")
  assert.equal(tracesUrl(ofTraces), "http://t")
  assert.equal(tracesUrl({ OTEL_EXPORTER_OTLP_ENDPOINT: "" }), undefined)
})

const toolSpan: Span = {
  span_id: "t",
  number: 1,
  kind: "tool",
  name: "pay",
  namespace: "tools:1",
  started_us: 1_795_970_000_123_456,
  ended_us: 1_795_970_000_123_457,
  status: "success",
}

for (const hasContent of [false, true]) {
  test(`a collector gets what a failed tool got and says only with content (${hasContent})`, async () => {
    await using collector = await startCollector()
    const tracing = await tracingTo(collector, hasContent)
    await using http = await freshHttp({ slots: 1, tracing })
    const error = { error: "ValidationError", message: "1 validation error: input_value='4111 1111 1111 1111'" }
    const stream = await http.stream("POST", "/runs/stream", { assistant_id: "agent", input: {} })
    const run = await until(() => http.server.workers.started[0], { what: "the run starts" })

    run.emitSpans([{ ...toolSpan, status: "error", error }], [{ input: { card: "4222" } }])
    run.done()
    await stream.ended
    await tracing.close()

    const tool = collector.spans.find(({ name }) => name === "execute_tool pay")
    assert.equal(tool?.attributes["error.type"], "ValidationError")
    for (const said of ["4111", "4222"]) assert.equal(JSON.stringify(tool).includes(said), hasContent, said)
  })
}

test("spans with content are sent in small requests", async () => {
  await using collector = await startCollector()
  const tracing = await tracingTo(collector, true)
  await using http = await freshHttp({ slots: 1, tracing })
  const stream = await http.stream("POST", "/runs/stream", { assistant_id: "agent", input: {} })
  const run = await until(() => http.server.workers.started[0], { what: "the run starts" })

  run.emitSpans(Array.from({ length: 200 }, (_, n) => ({ ...toolSpan, number: n + 1 })))
  run.done()
  await stream.ended
  await tracing.close()

  assert.equal(collector.spans.filter(({ name }) => name === "execute_tool pay").length, 200)
  assert.ok(Math.max(...collector.requestSizes) <= 64, String(collector.requestSizes))
})

test("a request and its runs belong to the trace that the caller started", async () => {
  await using collector = await startCollector()
  const tracing = await tracingTo(collector)
  await using http = await freshHttp({ slots: 1, tracing })
  const { workers } = http.server
  const traceId = "0af7651916cd43dd8448eb211c80319c"
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`

  const stream = await http.stream("POST", "/runs/stream", { assistant_id: "agent", input: {} }, { traceparent })
  await http.send("POST", "/runs", { assistant_id: "agent", input: {} }, { traceparent })
  workers.started[0]?.emit("values", {})
  workers.started[0]?.done()
  await stream.ended
  await until(() => workers.started.length === 2, { what: "the waiting run starts" })
  workers.started[1]?.done({ status: "error", error: { error: "Boom", message: "x" } })
  const hasFailed = async () => /status="error"} 1/.test((await http.send("GET", "/metrics")).text)
  await until(hasFailed, { what: "the second run has ended" })
  await tracing.close()

  const traced = collector.spans.filter((span) => span.traceId === traceId)
  const streamed = traced.find(({ name }) => name === "POST /runs/stream")
  const created = traced.find(({ name }) => name === "POST /runs")
  const executed = traced.filter(({ name }) => name === "run executed")
  const queued = traced.filter(({ name }) => name === "run queued")
  assert.deepEqual([streamed?.parentSpanId, created?.parentSpanId], ["b7ad6b7169203331", "b7ad6b7169203331"])
  assert.deepEqual(fieldsOf(executed, "parentSpanId"), [streamed?.spanId, created?.spanId])
  assert.deepEqual(fieldsOf(queued, "parentSpanId"), [created?.spanId])
  const statuses = executed.map(({ attributes }) => attributes["superstep.status"])
  assert.deepEqual(statuses, ["success", "error"])
  assert.deepEqual(fieldsOf(executed[0]?.events ?? [], "name"), ["first event"])
  assert.equal(streamed?.attributes["http.response.status_code"], 200)
  // Requests without a traceparent start their own traces.
  assert.ok(collector.spans.some((span) => span.name === "GET /metrics" && span.traceId !== traceId))
})
