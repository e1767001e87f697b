import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { putCheckpoint } from "../checkpoints/queries.js"
import { freshHttp, startTestHttp, type TestHttp } from "../testing/test-http.js"
import { serverDatabase } from "../testing/test-server.js"
import { addRun, newThread, startedRun } from "../testing/thread-streams.js"
import type { RunResult } from "../workers/port.js"
import { findRun } from "./queries.js"

const agent = { assistant_id: "agent", input: {} }

/** Two runs of a thread, one after the other, each with a checkpoint. @returns  their ids */
async function twoRuns(db: Database, threadId: string, asked: TestHttp, executing: TestHttp): Promise<string[]> {
  const runs: string[] = []
  for (const [n, from] of ["the first", "the second"].entries()) {
    await asked.send("POST", `/threads/${threadId}/runs`, agent)
    const run = await startedRun(executing, n)
    const { runId, claimId } = run.order
    runs.push(runId)
    const checkpoint = { threadId, checkpointNs: "", checkpointId: `c${n}`, parentCheckpointId: null, blobs: [] }
    await putCheckpoint(db, { runId, claimId }, { ...checkpoint, checkpoint: "{}", metadata: "{}" })
    run.done({ values: JSON.stringify({ from }) })
    await until(async () => (await findRun(db, threadId, runId))?.status === "success", { what: "its end" })
  }
  return runs
}

test("wait returns the state, and a Location at which to wait again", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)

  const reply = http.send("POST", `/threads/${threadId}/runs/wait`, agent)
  const run = await startedRun(http)
  run.done({ values: '{"count": 1}' })
  const { status, json, headers } = await reply

  assert.equal(status, 200)
  assert.deepEqual(json, { count: 1 })
  assert.equal(headers.get("location"), `/threads/${threadId}/runs/${run.order.runId}/join`)
  assert.equal(headers.get("content-location"), `/threads/${threadId}/runs/${run.order.runId}`)
})

test("waiting for an interrupted run returns the state and its interrupts; for a failed one 200 with __error__, as SDKs expect", async () => {
  await using http = await freshHttp()
  const end = async (result: Partial<RunResult>) => {
    const n = http.server.workers.started.length
    const reply = http.send("POST", "/runs/wait", agent)
    ;(await startedRun(http, n)).done(result)
    assert.equal((await reply).status, 200)
    return (await reply).json
  }
  const interrupted = { status: "interrupted", interrupts: "{}", next: ["ask"] } as const
  const question = { id: "i", value: "sure?" }
  const error = { error: "Boom", message: "it broke" }

  const asked = await end({ ...interrupted, values: '{"a":1}', interrupts: JSON.stringify({ t1: [question] }) })
  assert.deepEqual(asked, { a: 1, __interrupt__: [question] })
  for (const values of ["{}", undefined, '"text"'])
    assert.deepEqual(await end({ ...interrupted, values }), { __interrupt__: [] })
  assert.deepEqual(await end({ status: "error", error }), { __error__: error })
})

test("join works for running and ended runs, and a disconnecting join may cancel the run", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  await http.send("POST", `/threads/${threadId}/runs`, agent)
  const run = await startedRun(http)
  const path = `/threads/${threadId}/runs/${run.order.runId}/join`

  const joined = http.send("GET", path)
  await until(() => http.server.streams.runs.has(run.order.runId), { what: "the join" })
  run.done({ values: '{"n":1}' })

  assert.deepEqual((await joined).json, { n: 1 })
  assert.deepEqual((await http.send("GET", path)).json, { n: 1 })

  await http.send("POST", `/threads/${threadId}/runs`, agent)
  const second = await startedRun(http, 1)
  const own = `/threads/${threadId}/runs/${second.order.runId}`
  const leaving = await http.stream("GET", `${own}/join?cancel_on_disconnect=1`)
  leaving.leave()
  await until(() => second.isCancelled, { what: "the cancel" })
})

test("a run's result is the state at its end, also when a later run has changed the thread", async () => {
  await using db = await serverDatabase()
  await using asked = await startTestHttp(db, { slots: 0 })
  await using other = await startTestHttp(db)
  const threadId = await newThread(asked)
  const questions: Readonly<Record<string, unknown>>[] = []
  asked.server.workers.answer = async (method, fields) => {
    questions.push({ method, ...fields })
    return { fields: {}, payload: [Buffer.from('{"values":{"from":"the first"},"tasks":[]}')] }
  }
  const runs = await twoRuns(db, threadId, asked, other)

  const join = (runId: string) => asked.send("GET", `/threads/${threadId}/runs/${runId}/join`)
  const joined = await Promise.all(runs.map(join))

  assert.deepEqual(fieldsOf(joined, "json"), [{ from: "the first" }, { from: "the second" }])
  assert.deepEqual(fieldsOf(questions, "method", "checkpoint_id"), [["graph.state", "c0"]])
})

test("only waiting clients get the result, streaming clients do not", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)

  const stream = await http.stream("POST", `/threads/${threadId}/runs/stream`, { ...agent, stream_resumable: true })
  const run = await startedRun(http)
  const path = `/threads/${threadId}/runs/${run.order.runId}`
  const joined = http.send("GET", `${path}/join`)
  await until(() => http.server.streams.runs.get(run.order.runId)?.wants("result"), { what: "the join" })
  run.done({ values: '{"n":1}' })
  await stream.ended
  const again = await http.stream("GET", `${path}/stream`, undefined, { "last-event-id": "-1" })
  await again.ended

  assert.deepEqual((await joined).json, { n: 1 })
  for (const { events } of [stream, again]) assert.deepEqual(fieldsOf(events(), "event"), ["metadata", "end"])
})

test("when a server closes its streams, runs with on_disconnect cancel continue", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const body = { ...agent, on_disconnect: "cancel" }

  const broken = assert.rejects(http.send("POST", `/threads/${threadId}/runs/wait`, body))
  const run = await startedRun(http)
  await until(() => http.server.streams.runs.has(run.order.runId), { what: "the waiter" })
  await http.server.streams.close()
  await broken
  const row = await http.db.row(sql`select cancel_action from runs where run_id = ${run.order.runId}`)

  assert.deepEqual(row, { cancel_action: null })
  assert.equal(run.isCancelled, false)
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
  assert.equal((run.json as { status: string }).status, "interrupted")
})
