/** What people see of the queue and of the past of a run, over HTTP on a real database. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { ownerOf } from "../testing/callers.js"
import { freshHttp, type TestHttp } from "../testing/test-http.js"
import { newThread } from "../testing/thread-streams.js"
import { readQueue } from "./queue-operations.js"

interface Run {
  readonly run_id: string
  readonly thread_id: string
}

interface Queued extends Run {
  readonly position: number | null
  readonly attempt: number
  readonly wait: { readonly reason: string; readonly run_id: string | null; readonly until: string | null } | null
}

interface Attempt {
  readonly attempt: number
  readonly claimed_at: string | null
  readonly ended_at: string | null
  readonly ending: string | null
}

const addRun = async (http: TestHttp, threadId: string, fields: object = {}) =>
  (await http.send("POST", `/threads/${threadId}/runs`, { assistant_id: "agent", input: {}, ...fields })).json as Run

const executing = (http: TestHttp, { run_id }: Run) =>
  until(() => http.server.workers.running.get(run_id), { what: "the run to execute" })

const queue = async (http: TestHttp, query = "") => {
  const reply = await http.send("GET", `/queue${query}`)
  return { runs: reply.json as Queued[], total: reply.headers.get("x-pagination-total") }
}

const attempts = async (http: TestHttp, { thread_id, run_id }: Run) => {
  const { json } = await http.send("GET", `/threads/${thread_id}/runs/${run_id}/attempts`)
  return (json as { attempts: Attempt[] }).attempts
}

const attemptsAfterEnd = async (http: TestHttp, run: Run) => {
  const hasEnded = async () => (await attempts(http, run)).at(-1)?.ending === "success"
  await until(hasEnded, { what: "the end of the run" })
  return attempts(http, run)
}

test("the queue shows in which order runs will start, and why each one waits", async () => {
  await using http = await freshHttp({ slots: 1 })
  const [first, second] = [await newThread(http), await newThread(http)]
  const running = await addRun(http, first)
  await executing(http, running)
  const next = await addRun(http, first)
  const last = await addRun(http, first)
  const elsewhere = await addRun(http, second)
  const later = await addRun(http, await newThread(http), { after_seconds: 3600 })

  const waiting = await queue(http)
  const executingNow = await queue(http, "?status=running")
  const page = await queue(http, "?limit=1&offset=2")
  const one = await queue(http, `?run_id=${last.run_id}`)

  const order = waiting.runs.map(({ run_id, position, wait }) => [run_id, position, wait?.reason, wait?.run_id ?? null])
  assert.deepEqual(order, [
    [next.run_id, 1, "thread_busy", running.run_id],
    [last.run_id, 2, "thread_busy", running.run_id],
    [elsewhere.run_id, 3, "no_free_slot", null],
    [later.run_id, 4, "scheduled", null],
  ])
  assert.ok(new Date(waiting.runs[3]?.wait?.until ?? 0) > new Date())
  assert.equal(waiting.total, "4")
  assert.deepEqual(fieldsOf(executingNow.runs, "run_id", "position", "wait"), [[running.run_id, null, null]])
  assert.deepEqual(fieldsOf(page.runs, "run_id", "position"), [[elsewhere.run_id, 3]])
  const found = one.runs.map(({ run_id, position, wait }) => [run_id, position, wait?.reason])
  assert.deepEqual(found, [[last.run_id, null, "thread_busy"]])
  assert.equal(one.total, "1")
})

test("a delayed run starts after what was requested before it was due, and no run before an earlier one when the clock was set back (R3)", async () => {
  await using http = await freshHttp({ slots: 1 })
  const threadId = await newThread(http)
  const running = await addRun(http, threadId)
  const delayed = await addRun(http, threadId, { after_seconds: 3600 })
  const first = await addRun(http, threadId)
  const ahead = sql`created_at + interval '0.2 s'`
  await http.db.run(sql`update runs set created_at = ${ahead}, not_before = ${ahead} where run_id = ${first.run_id}`)
  const second = await addRun(http, threadId)
  await http.db.run(sql`update runs set not_before = (select not_before + interval '1 us' from runs where run_id = ${second.run_id})
    where run_id = ${delayed.run_id}`)

  const inOrder = [running, first, second, delayed]
  const { runs } = await queue(http)
  const { started } = http.server.workers
  for (const n of inOrder.keys()) (await until(() => started[n], { what: "the next run to execute" })).done()

  assert.deepEqual(fieldsOf(runs, "run_id"), fieldsOf(inOrder.slice(1), "run_id"))
  assert.deepEqual(
    started.map(({ order }) => order.runId),
    fieldsOf(inOrder, "run_id"),
  )
})

test("the queue contains only runs of threads that the caller may see", async () => {
  await using http = await freshHttp({ slots: 0 })
  const anns = await addRun(http, await newThread(http, { owner: "ann" }))
  await addRun(http, await newThread(http, { owner: "bob" }))
  const events: string[] = []
  const { runs, total } = await readQueue(http.server, ownerOf("ann", events), {
    status: "pending",
    limit: 10,
    offset: 0,
  })

  const seen = runs.map(({ row, position }) => [row.run_id, position])
  assert.deepEqual([seen, total], [[[anns.run_id, 1]], 1])
  assert.deepEqual(events, ["threads:search"])
})

test("a run whose worker died shows both attempts, with their times and the reason", async () => {
  await using http = await freshHttp()
  const run = await addRun(http, await newThread(http))
  const first = await executing(http, run)

  const during = await attempts(http, run)
  first.die()
  const second = await until(() => http.server.workers.started[1], { what: "the second attempt" })
  second.done()
  const after = await attemptsAfterEnd(http, run)

  assert.deepEqual(fieldsOf(during, "attempt", "ended_at", "ending"), [[1, null, null]])
  assert.deepEqual(fieldsOf(after, "ending"), ["worker_died", "success"])
  assert.deepEqual(fieldsOf(after, "attempt"), [1, 2])
  const times = after.flatMap(({ claimed_at, ended_at }) => [claimed_at, ended_at])
  assert.deepEqual([...times].sort(), times)
  assert.equal(times.includes(null), false)
})

test("an attempt that another release claimed has no start, and is not mistaken for an earlier one", async () => {
  await using http = await freshHttp()
  const run = await addRun(http, await newThread(http))
  const executed = await executing(http, run)
  await http.db.run(sql`update runs set claimed_at = null where run_id = ${run.run_id}`)
  executed.done()
  assert.deepEqual(fieldsOf(await attemptsAfterEnd(http, run), "attempt", "claimed_at"), [[1, null]])
})

test("a page of the log ends after 1 MB, and names the next one while more follow", async () => {
  await using http = await freshHttp()
  const run = await addRun(http, await newThread(http), { stream_resumable: true, stream_mode: ["values"] })
  const executed = await executing(http, run)
  for (const n of [1, 2, 3, 4, 5]) executed.emit("values", { n, text: "x".repeat(400_000) })
  executed.done()
  await http.send("GET", `/threads/${run.thread_id}/runs/${run.run_id}/join`)
  const pages = async (limit: number) => {
    const all: string[][] = []
    for (let after: string | null = "-1"; after !== null; ) {
      const path = `/threads/${run.thread_id}/runs/${run.run_id}/events?after=${after}&limit=${limit}`
      const { json, headers } = await http.send("GET", path)
      const events = json as { event: string; data: { n?: number } }[]
      all.push(events.map(({ event, data }) => `${event}${data.n ?? ""}`))
      after = headers.get("x-pagination-next")
    }
    return all
  }

  assert.deepEqual(await pages(1000), [
    ["metadata", "values1", "values2", "values3"],
    ["values4", "values5", "end"],
  ])
  assert.deepEqual(await pages(2), [["metadata", "values1"], ["values2", "values3"], ["values4", "values5"], ["end"]])
  // The page ends where the log does, so none follows.
  assert.equal((await pages(7)).length, 2)
})
