/** `GET /threads/{thread_id}/runs/{run_id}/trace`, over HTTP on a real database. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Span } from "@superstep/protocol/worker/frames"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp, type TestHttp } from "../testing/test-http.js"
import { addRun, executing, newThread } from "../testing/thread-streams.js"
import { leftSpanSweep, spanSweep } from "./sweep-spans.js"

const begun = 1_795_970_000_123_456

const graph: Span = {
  span_id: "01a2289e-fdcf-7087-b7ed-e590415086ef",
  number: 1,
  kind: "graph",
  name: "LangGraph",
  namespace: "",
  started_us: begun,
  status: "running",
}
const node: Span = { ...graph, span_id: "n", number: 2, parent: 1, kind: "node", name: "agent", namespace: "agent:1" }
const ended = (span: Span, afterUs: number): Span => ({ ...span, status: "success", ended_us: begun + afterUs })

async function startRun(http: TestHttp) {
  const threadId = await newThread(http)
  const runId = await addRun(http, threadId)
  return { path: `/threads/${threadId}/runs/${runId}`, run: await executing(runId, http) }
}

async function trace(http: TestHttp, path: string, query = ""): Promise<Record<string, unknown>[]> {
  const reply = await http.send("GET", `${path}/trace${query}`)
  assert.equal(reply.status, 200, reply.text)
  return reply.json as Record<string, unknown>[]
}

const rows = async (http: TestHttp): Promise<number> => (await http.server.db.rows(sql`select from run_spans`)).length

test("a span is read while it executes, and with its end and its output after it", async () => {
  await using http = await freshHttp({ slots: 1 })
  const { path, run } = await startRun(http)

  run.emitSpans([graph], [{ input: { n: 1 } }])
  const [open] = await trace(http, path)
  run.emitSpans([ended(graph, 2_500)], [{ input: { n: 1 }, output: { n: 2 } }])
  const [over, ...more] = await trace(http, path)

  assert.deepEqual([open?.status, open?.ended_at, open?.started_at], ["running", null, "2026-11-29T16:33:20.123456Z"])
  assert.ok(!("output" in (open ?? {})))
  assert.deepEqual([over?.status, over?.ended_at], ["success", "2026-11-29T16:33:20.125956Z"])
  assert.deepEqual([over?.input, over?.output], [{ n: 1 }, { n: 2 }])
  assert.deepEqual(more, [])
})

test("a trace is read while the database cannot take its newest spans, which are written later", async () => {
  await using http = await freshHttp({ slots: 1 })
  const { path, run } = await startRun(http)
  const { db } = http.server
  run.emitSpans([ended(graph, 1)])
  await http.server.spans.settled()

  const meanwhile = await db.transaction(async (tx) => {
    await tx.run(sql`lock table run_spans in exclusive mode`)
    run.emitSpans([ended(node, 1)])
    return trace(http, path)
  })

  assert.deepEqual(fieldsOf(meanwhile, "kind"), ["graph"])
  await until(async () => (await trace(http, path)).length === 2, { what: "the newest span is written" })
})

test("spans are in the order in which they began, and name the span around them", async () => {
  await using http = await freshHttp({ slots: 1 })
  const { path, run } = await startRun(http)
  const tool: Span = { ...node, span_id: "t", number: 3, parent: 2, kind: "tool", name: "add", tool_call_id: "call_1" }
  const model: Span = { ...node, span_id: "m", number: 4, parent: 2, kind: "model", input_tokens: 3, output_tokens: 4 }

  run.emitSpans([ended(model, 30), ended(tool, 20)])
  run.emitSpans([ended(node, 40), ended(graph, 50)])
  run.done()
  const spans = await trace(http, path)

  assert.deepEqual(fieldsOf(spans, "kind"), ["graph", "node", "tool", "model"])
  const around = spans.map(({ parent_id }) => spans.find(({ id }) => id === parent_id)?.kind)
  assert.deepEqual(around, [undefined, "graph", "node", "node"])
  assert.deepEqual([spans[3]?.input_tokens, spans[3]?.output_tokens, spans[2]?.tool_call_id], [3, 4, "call_1"])
})

test("a trace is read in pages, which are bounded in number and in bytes", async () => {
  await using http = await freshHttp({ slots: 1 })
  const { path, run } = await startRun(http)
  const spans = Array.from({ length: 5 }, (_, n) => ended({ ...graph, number: n + 1 }, n))
  const contents = spans.map(() => ({ input: "x".repeat(400_000) }))
  run.emitSpans(spans, contents)

  const byBytes = await http.send("GET", `${path}/trace`)
  const all = await trace(http, path, "?content=false")
  const byNumber = await http.send("GET", `${path}/trace?content=false&limit=2&after=${all[1]?.id}`)

  assert.equal((byBytes.json as unknown[]).length, 3)
  assert.equal(byBytes.headers.get("x-pagination-next"), all[2]?.id)
  assert.equal(all.length, 5)
  assert.ok(all.every((span) => !("input" in span)))
  assert.deepEqual(fieldsOf(byNumber.json as typeof all, "id"), [all[2]?.id, all[3]?.id])
  assert.equal(byNumber.headers.get("x-pagination-next"), all[3]?.id)
})

test("each attempt of a run has its own spans, and those of the lost one stay open", async () => {
  await using http = await freshHttp({ slots: 1 })
  const { path, run } = await startRun(http)
  run.emitSpans([graph, node])
  run.die(false)
  const { workers } = http.server
  await until(() => workers.started.length === 2, { what: "the second attempt starts" })

  workers.started[1]?.emitSpans([ended(graph, 10)])
  const spans = await trace(http, path)

  assert.deepEqual(fieldsOf(spans, "attempt", "kind", "status"), [
    [1, "graph", "running"],
    [1, "node", "running"],
    [2, "graph", "success"],
  ])
})

test("the trace of a deleted run or thread is out of reach at once, and is deleted by the next sweeps", async () => {
  await using http = await freshHttp({ slots: 3 })
  const [first, second, kept] = [await startRun(http), await startRun(http), await startRun(http)]
  for (const { path, run } of [first, second, kept]) {
    run.emitSpans([ended(graph, 1), ended(node, 1)])
    assert.equal((await trace(http, path)).length, 2)
    run.done()
    const status = async () => ((await http.send("GET", path)).json as { status: string }).status
    await until(async () => (await status()) === "success", { what: "the run has ended" })
  }
  const { db } = http.server
  // A portion is one run, so that the sweep must go on from each to the next.
  const sweep = leftSpanSweep(db, 1)

  assert.equal((await http.send("DELETE", first.path)).status, 204)
  const thread = second.path.slice(0, second.path.indexOf("/runs"))
  assert.equal((await http.send("DELETE", thread)).status, 204)
  const afterDeletion = await rows(http)
  for (let step = 0; step < 4; step++) await sweep.step()

  assert.equal((await http.send("GET", `${first.path}/trace`)).status, 404)
  assert.equal((await http.send("GET", `${second.path}/trace`)).status, 404)
  assert.equal(afterDeletion, 6)
  assert.equal((await trace(http, kept.path)).length, 2)
  assert.equal(await rows(http), 2)
})

test("the spans of a deleted run go in portions, and later ones are found in the next round", async () => {
  await using http = await freshHttp({ slots: 1 })
  const { db } = http.server
  const sweep = leftSpanSweep(db)
  const leave = (count: number) =>
    db.run(sql`
      insert into run_spans (run_id, seq, span, content)
      select '00000000-0000-4000-8000-000000000001', n, '{}', '' from generate_series(1, ${count}::int) n`)
  await leave(2500)

  const steps = [await sweep.step(), await rows(http), await sweep.step(), await rows(http)]
  await leave(1)
  await sweep.step()

  assert.deepEqual(steps, [true, 500, false, 0])
  assert.equal(await rows(http), 0)
})

test("nothing is kept of a stateless run", async () => {
  await using http = await freshHttp({ slots: 1 })
  const stream = await http.stream("POST", "/runs/stream", { assistant_id: "agent", input: {} })
  const run = await until(() => http.server.workers.started[0], { what: "the run starts" })

  run.emitSpans([ended(graph, 1)], [{ input: "secret" }])
  await http.server.spans.settled()
  const kept = await rows(http)
  run.done()
  await stream.ended

  assert.equal(kept, 0)
})

test("traces are deleted when they are older than the setting says", async () => {
  await using http = await freshHttp({ slots: 1 })
  const { path, run } = await startRun(http)
  run.emitSpans([ended(graph, 1), ended(node, 1)])
  await trace(http, path)
  await http.server.db.run(sql`update run_spans set created_at = now() - interval '8 days' where seq = 1`)

  const hasMore = await spanSweep(http.server.db, 7).step()

  assert.equal(hasMore, false)
  assert.deepEqual(fieldsOf(await trace(http, path), "kind"), ["node"])
})
