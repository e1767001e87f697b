import assert from "node:assert/strict"
import { test } from "node:test"
import { JsonLogsSerializer } from "@opentelemetry/otlp-transformer"
import { batchOf, type ForwardedLine, traceOf } from "./line.js"
import { otlpBody, rejectedRecords } from "./otlp.js"

const line = (id: number, more: Partial<ForwardedLine> = {}): ForwardedLine => ({
  log_line_id: id,
  workspace_id: "0190f0a0-0000-7000-8000-000000000001",
  deployment_id: "0190f0a0-0000-7000-8000-000000000002",
  deployment_name: "chat",
  revision_id: "0190f0a0-0000-7000-8000-000000000003",
  revision_number: 7,
  stream: "deploy",
  time: "2026-01-02T03:04:05.678901Z",
  time_ns: "1767323045678901000",
  level: "INFO",
  message: `line ${id}`,
  run_id: null,
  ...more,
})

test("an OTLP request is what OpenTelemetry's own exporter sends for the same records", () => {
  const trace = { trace_id: "0af7651916cd43dd8448eb211c80319c", span_id: "b7ad6b7169203331" }
  const lines = [
    line(1, {
      message: `it broke ${JSON.stringify(trace)}`,
      level: "CRITICAL",
      run_id: "0190f0a0-0000-7000-8000-000000000009",
    }),
    line(2, { revision_id: "0190f0a0-0000-7000-8000-000000000004", revision_number: 8, stream: "build" }),
    line(3, { level: "WARNING" }),
  ]
  const resource = (of: ForwardedLine | undefined) => ({
    attributes: {
      "service.name": "chat",
      "service.version": of?.revision_id,
      "superstep.workspace.id": of?.workspace_id,
      "superstep.deployment.id": of?.deployment_id,
      "superstep.deployment.name": "chat",
      "superstep.revision.id": of?.revision_id,
      "superstep.revision.number": of?.revision_number,
    },
  })
  const [first, second] = [resource(lines[0]), resource(lines[1])]
  const at = [1_767_323_045, 678_901_000]
  const scope = { name: "superstep" }
  const record = (body: string, own: object) => ({
    hrTime: at,
    hrTimeObserved: at,
    body,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    ...own,
  })
  const official = [
    record(lines[0]?.message ?? "", {
      resource: first,
      severityNumber: 21,
      severityText: "CRITICAL",
      attributes: {
        "log.record.uid": "1",
        "superstep.log.stream": "deploy",
        "superstep.run.id": "0190f0a0-0000-7000-8000-000000000009",
      },
      spanContext: { traceId: trace.trace_id, spanId: trace.span_id },
    }),
    record("line 2", {
      resource: second,
      severityNumber: 9,
      severityText: "INFO",
      attributes: { "log.record.uid": "2", "superstep.log.stream": "build" },
    }),
    record("line 3", {
      resource: first,
      severityNumber: 13,
      severityText: "WARNING",
      attributes: { "log.record.uid": "3", "superstep.log.stream": "deploy" },
    }),
  ]

  const body = JSON.parse(JSON.stringify(otlpBody(lines)))

  const bytes = JsonLogsSerializer.serializeRequest(official as never)
  assert.deepEqual(body, JSON.parse(Buffer.from(bytes ?? []).toString()))
})

test("a request is bounded in lines and bytes, and never empty", () => {
  const lines = [line(1), line(2), line(3, { deployment_id: "other", message: "x".repeat(100) })]

  const ids = (most: { mostLines: number; mostBytes: number }) =>
    batchOf(lines, most).lines.map(({ log_line_id }) => log_line_id)

  assert.deepEqual(ids({ mostLines: 2, mostBytes: 1000 }), [1, 2])
  assert.deepEqual(ids({ mostLines: 10, mostBytes: 50 }), [1, 2])
  assert.deepEqual(ids({ mostLines: 10, mostBytes: 1 }), [1])
  assert.deepEqual([...batchOf(lines, { mostLines: 1, mostBytes: 1000 }).complete], [])
  assert.deepEqual([...batchOf(lines, { mostLines: 2, mostBytes: 1000 }).complete], [lines[0]?.deployment_id])
})

test("ids of a trace are taken from a structured line, and never invalid ones", () => {
  const traceId = "0af7651916cd43dd8448eb211c80319c"

  assert.deepEqual(traceOf(`x {"trace_id":"${traceId}"}`), { traceId })
  assert.deepEqual(traceOf(`x {"span_id":"b7ad6b7169203331"}`), {})
  assert.deepEqual(traceOf(`x {"trace_id":"${"0".repeat(32)}"}`), {})
  assert.deepEqual(traceOf(`x {"trace_id":"${traceId.toUpperCase()}"}`), {})
})

test("records that a collector rejects itself are counted, in either encoding of a 64-bit number", () => {
  assert.equal(rejectedRecords('{"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"old"}}').count, 3)
  assert.equal(rejectedRecords('{"partialSuccess":{"rejectedLogRecords":2}}').count, 2)
  for (const reply of [
    "",
    "{}",
    "ok",
    "null",
    '{"partialSuccess":null}',
    '{"partialSuccess":{"rejectedLogRecords":-1}}',
  ])
    assert.equal(rejectedRecords(reply).count, 0, reply)
})
