import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp, type TestHttp } from "../testing/test-http.js"
import { newThread } from "../testing/thread-streams.js"

interface Run {
  readonly run_id: string
  readonly status: string
  readonly cancel_reason: string | null
  readonly input_saved: boolean | null
  readonly metadata: { readonly n?: number }
}

const addRun = async (http: TestHttp, threadId: string, fields: object = {}) =>
  (await http.send("POST", `/threads/${threadId}/runs`, { assistant_id: "agent", input: {}, ...fields })).json as Run

const executing = (http: TestHttp, { run_id }: Run) =>
  until(() => http.server.workers.running.get(run_id), { what: "the run to execute" })

const detailOf = (json: unknown) => String((json as { detail: string }).detail)

test("a list is newest first, filtered by status and metadata, with only the selected fields", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const path = `/threads/${threadId}/runs`
  const runs = []
  for (const n of [0, 1, 2]) runs.push(await addRun(http, threadId, { metadata: { n, odd: "\u0000\ud800" } }))
  const listed = async (query: string) => (await http.send("GET", `${path}?${query}`)).json as Run[]
  const ns = async (query: string) => (await listed(query)).map(({ metadata }) => metadata.n)

  assert.deepEqual(await ns(""), [2, 1, 0])
  assert.deepEqual(await ns("limit=1&offset=1"), [1])
  assert.deepEqual(await ns("status=running"), [0])
  assert.deepEqual(await ns(`metadata=${encodeURIComponent('{"n":1}')}`), [1])
  assert.deepEqual(await ns(`metadata=${encodeURIComponent('{"odd":"\\u0000\\ud800"}')}`), [2, 1, 0])
  assert.deepEqual(await listed("select=status&limit=1"), [{ status: "pending" }])
  assert.deepEqual(await listed('select=["run_id"]&limit=1'), [{ run_id: runs[2]?.run_id }])
})

test("invalid requests are rejected with a message and change nothing", async (t) => {
  await using http = await freshHttp()
  const [threadId, other] = [await newThread(http), await newThread(http)]
  const run = await addRun(http, threadId)
  await executing(http, run)
  const path = `/threads/${threadId}/runs`
  const own = `${path}/${run.run_id}`
  const foreign = `/threads/${other}/runs/${run.run_id}`
  const agent = { assistant_id: "agent", input: {} }
  const modes = encodeURIComponent("values,updates|sub:1,messages/partial,lifecycle|sub:1")
  const nowhere = `/runs/${randomUUID()}/stream`
  const cases: [string, string, unknown, number, RegExp][] = [
    ["GET", `${path}?metadata={`, undefined, 422, /metadata: expected a JSON object/],
    ["GET", `${path}?metadata=${'{"a":'.repeat(600)}1${"}".repeat(600)}`, undefined, 422, /metadata: expected a JSON/],
    ["GET", `/threads/${randomUUID()}/runs`, undefined, 404, /not found/],
    ["GET", foreign, undefined, 404, /not found/],
    ["GET", `${foreign}/stream`, undefined, 404, /not found/],
    ["GET", nowhere, undefined, 404, /not found/],
    ["GET", `${foreign}/attempts`, undefined, 404, /not found/],
    ["GET", `${foreign}/events`, undefined, 404, /not found/],
    ["GET", `${own}/events?after=x`, undefined, 422, /after/],
    ["GET", `/threads/${randomUUID()}/stream`, undefined, 404, /not found/],
    ["GET", `/threads/${threadId}/stream?stream_mode=values`, undefined, 422, /stream_mode/],
    ["POST", "/runs/search", { cursor: "x" }, 422, /cursor/],
    ["DELETE", foreign, undefined, 404, /not found/],
    ["DELETE", own, undefined, 409, /cancel it first, or delete it with \?force=true/],
    ["POST", `${foreign}/cancel`, undefined, 404, /not found/],
    ["POST", `${own}/cancel?reason=bored`, undefined, 422, /reason/],
    ["POST", `${own}/cancel?reason=taken&action=rollback`, undefined, 422, /goes with action=interrupt only/],
    ["POST", "/runs/cancel", {}, 422, /expected either "status", or "thread_id" with "run_ids"/],
    ["POST", "/runs/cancel", { status: "all", thread_id: threadId, run_ids: [run.run_id] }, 422, /expected either/],
    ["POST", "/runs/cancel", { thread_id: other, run_ids: [run.run_id] }, 404, /no run matches/],
    ["POST", path, { assistant_id: "agent", run_id: "mine" }, 422, /run_id: expected a UUID/],
    ["POST", path, { assistant_id: "agent", command: { goto: [1] } }, 422, /goto/],
    ["POST", "/runs/stream", { ...agent, assistant_id: "nope" }, 404, /^No assistant found for "nope"/],
    ["POST", "/runs/stream", { ...agent, stream_mode: ["values", 1] }, 422, /stream_mode/],
    ["POST", `/threads/${randomUUID()}/runs`, agent, 404, /^Thread with ID .* not found$/],
    ["GET", `/threads/${randomUUID()}/state`, undefined, 404, /not found/],
    ["POST", `/threads/${randomUUID()}/state`, { values: {} }, 404, /not found/],
    ["PATCH", `/threads/${randomUUID()}`, {}, 404, /not found/],
    ["GET", `${path}/${randomUUID()}`, undefined, 404, /not found/],
    ["GET", `${nowhere}?stream_mode=values,no`, undefined, 422, /"no" is not a stream mode: expected/],
    ["GET", `${nowhere}?stream_mode=${modes}`, undefined, 404, /not found/],
    ["POST", path, { ...agent, checkpoint_id: "nope" }, 404, /no checkpoint/],
    ["POST", path, { ...agent, webhook: "ftp://a.example" }, 422, /body\.webhook: expected an http/],
    ["POST", path, { ...agent, after_seconds: -1 }, 422, /after_seconds/],
    ["POST", "/threads", { thread_id: threadId }, 409, /^Thread already exists$/],
  ]

  for (const [method, asked, body, status, detail] of cases) {
    await t.test(`${method} ${asked.slice(0, 90)} ${JSON.stringify(body ?? "").slice(0, 60)}`, async () => {
      const reply = await http.send(method, asked, body)

      assert.equal(reply.status, status, reply.text)
      assert.match(detailOf(reply.json), detail)
    })
  }
  assert.equal((await http.send("HEAD", `${own}/join`)).status, 405)
  assert.equal(((await http.send("GET", path)).json as Run[]).length, 1)
  assert.equal(http.server.workers.running.get(run.run_id)?.isCancelled, false)
})

test("a run shows why it was stopped, but not if it ended before the stop", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const path = `/threads/${threadId}/runs`
  const reasonOf = async ({ run_id }: Run) => ((await http.send("GET", `${path}/${run_id}`)).json as Run).cancel_reason
  http.server.workers.ignoresCancel = true

  const taken = await addRun(http, threadId)
  await executing(http, taken)
  await http.send("POST", `${path}/${taken.run_id}/cancel?reason=taken`)
  ;(await executing(http, taken)).done({ status: "cancelled" })
  const quicker = await addRun(http, threadId)
  await executing(http, quicker)
  await http.send("POST", `${path}/${quicker.run_id}/cancel`)
  ;(await executing(http, quicker)).done()
  const replaced = await addRun(http, threadId)
  await executing(http, replaced)
  const next = await addRun(http, threadId, { multitask_strategy: "interrupt" })
  ;(await executing(http, replaced)).done({ status: "cancelled" })
  await executing(http, next)

  assert.match((await reasonOf(taken)) ?? "", /^taken:/)
  assert.equal(await reasonOf(quicker), null)
  assert.equal(await reasonOf(replaced), `run ${next.run_id} took its place`)
})

test("a rollback is not replaced by a later interrupt before the run has stopped (R7)", async () => {
  await using http = await freshHttp()
  http.server.workers.ignoresCancel = true
  const threadId = await newThread(http)
  const run = await addRun(http, threadId)
  const execution = await executing(http, run)
  const path = `/threads/${threadId}/runs/${run.run_id}`

  await http.send("POST", `${path}/cancel?action=rollback`)
  await http.send("POST", `${path}/cancel?action=interrupt`)
  const joined = http.send("GET", `${path}/join`)
  execution.done({ status: "cancelled" })
  await joined

  assert.equal((await http.send("GET", path)).status, 404)
})

test("a forced deletion stops the run first", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const path = `/threads/${threadId}/runs`
  const [running, waiting] = [await addRun(http, threadId), await addRun(http, threadId)]
  await executing(http, running)

  const gone = await http.send("DELETE", `${path}/${waiting.run_id}?force=true`)
  const stopped = await http.send("DELETE", `${path}/${running.run_id}?force=1`)

  assert.deepEqual([gone.status, stopped.status], [204, 204])
  assert.deepEqual((await http.send("GET", path)).json, [])
  const { status } = (await http.send("GET", `/threads/${threadId}`)).json as { status: string }
  assert.equal(status, "idle")
})

const saveCheckpoint = (db: Database, threadId: string, id: string, run: Run) =>
  db.run(sql`insert into checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
    values (${threadId}, '', ${id}, '{}', ${JSON.stringify({ run_id: run.run_id })})`)

test("a run is not deleted while another one starts from its checkpoint", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const path = `/threads/${threadId}/runs`
  const first = await addRun(http, threadId)
  await saveCheckpoint(http.db, threadId, "a", first)
  ;(await executing(http, first)).done()
  const own = `${path}/${first.run_id}`
  await http.send("GET", `${own}/join`)
  const odd = { input: { text: "\u0000\ud800" }, after_seconds: 3600 }
  const other = await addRun(http, threadId, odd)
  const fork = await addRun(http, threadId, { ...odd, checkpoint_id: "a" })

  const refused = await http.send("DELETE", own)
  const forced = await http.send("DELETE", `${own}?force=true`)
  await http.send("POST", `${path}/${fork.run_id}/cancel`)
  const deleted = await http.send("DELETE", own)

  const why = new RegExp(`run ${fork.run_id} .*starts from a checkpoint of this run: cancel it first`)
  for (const { status, json } of [refused, forced]) {
    assert.deepEqual([status, (json as { code?: string }).code], [409, "run_in_use"])
    assert.match(detailOf(json), why)
  }
  assert.equal(deleted.status, 204, deleted.text)
  assert.equal((await http.send("GET", `${path}/${other.run_id}`)).status, 200)
})

test("a waiting run ends with an error when the checkpoint it starts from was rolled back", async () => {
  await using http = await freshHttp()
  http.server.workers.ignoresCancel = true
  const threadId = await newThread(http)
  const path = `/threads/${threadId}/runs`
  const first = await addRun(http, threadId)
  const scripted = await executing(http, first)
  await saveCheckpoint(http.db, threadId, "a", first)
  const fork = await addRun(http, threadId, { checkpoint_id: "a" })
  const next = await addRun(http, threadId)
  const stream = await http.stream("GET", `${path}/${fork.run_id}/stream`)

  await http.send("POST", `${path}/${first.run_id}/cancel?action=rollback`)
  scripted.done({ status: "cancelled" })
  await stream.ended
  await executing(http, next)

  const { json } = await http.send("GET", `${path}/${fork.run_id}`)
  assert.equal((json as Run).status, "error")
  const error = stream.events().find(({ event }) => event === "error")?.data as { error: string; message: string }
  assert.equal(error.error, "CheckpointGone")
  assert.match(error.message, /checkpoint a .*was removed.*send it again/)
  assert.ok(!http.server.workers.started.some(({ order }) => order.runId === fork.run_id))
})

test("a run that ends before its input is saved says so, at its end and afterwards; one that saved it does not (R14)", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const path = `/threads/${threadId}/runs`
  const executed = await addRun(http, threadId)
  await executing(http, executed)
  await saveCheckpoint(http.db, threadId, "a", executed)
  const waiting = { assistant_id: "agent", input: { n: 1 } }
  const stream = await http.stream("POST", `${path}/stream`, waiting)
  const [{ run_id: waitingId } = executed] = (await http.send("GET", `${path}?status=pending`)).json as Run[]

  const last = await addRun(http, threadId, { multitask_strategy: "interrupt" })
  await stream.ended
  const scripted = await executing(http, last)
  scripted.done({ status: "error", error: { error: "Error", message: "before its first step" } })
  const seen = async (runId: string) => {
    const { status, input_saved } = (await http.send("GET", `${path}/${runId}`)).json as Run
    return [status, input_saved]
  }
  await until(async () => (await seen(last.run_id))[0] === "error", { what: "the end of the last run" })

  assert.deepEqual(stream.events().at(-1)?.data, { run_id: waitingId, status: "interrupted", input_saved: false })
  assert.deepEqual(await seen(waitingId), ["interrupted", false])
  assert.deepEqual(await seen(executed.run_id), ["interrupted", true])
  assert.deepEqual(await seen(last.run_id), ["error", false])
  for (const [run_id, end] of [
    [waitingId, { status: "interrupted", input_saved: false }],
    [executed.run_id, { status: "interrupted" }],
    [last.run_id, { status: "error", input_saved: false }],
  ] as const) {
    const late = await http.stream("GET", `${path}/${run_id}/stream`)
    await late.ended
    assert.deepEqual(late.events().at(-1)?.data, { run_id, ...end })
  }
})

test("an answer that its node has not received is not saved with its run", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const saved = async (channel: string) => {
    const run = await addRun(http, threadId, { input: undefined, command: { resume: "yes" } })
    const scripted = await executing(http, run)
    await http.db.run(sql`insert into checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, blob, run_id)
      values (${threadId}, '', 'a', ${run.run_id}, 0, ${channel}, '', ${run.run_id})`)
    scripted.done({ status: "cancelled" })
    const read = async () => (await http.send("GET", `/threads/${threadId}/runs/${run.run_id}`)).json as Run
    await until(async () => (await read()).status === "interrupted", { what: "the end" })
    return (await read()).input_saved
  }

  assert.equal(await saved("__resume__"), false)
  assert.equal(await saved("result"), true)
})
