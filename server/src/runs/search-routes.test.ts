/** `POST /runs/search`, over HTTP on a real database. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { wholeReads } from "../testing/rows-read.js"
import { freshHttp, startTestHttp, type TestHttp } from "../testing/test-http.js"
import { serverDatabase } from "../testing/test-server.js"
import { executing, newThread } from "../testing/thread-streams.js"
import { type RunSearch, searchRuns } from "./search-queries.js"

interface Found {
  readonly run_id: string
  readonly thread_id: string
  readonly created_at: string
  readonly status: string
  readonly kwargs?: object
  readonly graph_id: string
  readonly user_id: string | null
  readonly revision_id: string | null
}

interface Page {
  readonly runs: readonly Found[]
  readonly next: string | null
  readonly read_until: string | null
}

const search = async (http: TestHttp, body: object): Promise<Page> => {
  const reply = await http.send("POST", "/runs/search", body)
  assert.equal(reply.status, 200, reply.text)
  return reply.json as Page
}

const idsOf = ({ runs }: Page): string[] => runs.map(({ run_id }) => run_id)

/** A thread with one run. */
async function addRun(http: TestHttp, fields: object = {}, metadata: object = {}): Promise<Found> {
  const body = { assistant_id: "agent", input: { text: "hi" }, ...fields }
  return (await http.send("POST", `/threads/${await newThread(http, metadata)}/runs`, body)).json as Found
}

test("runs of all threads are found, newest first, by each condition", async () => {
  await using http = await freshHttp({ slots: 0 })
  const failed = await addRun(http, { metadata: { user: "ann", n: 1 } })
  const slow = await addRun(http, { metadata: { user: "bob" } })
  const waiting = await addRun(http)
  await http.db.run(sql`
    update runs set status = 'error', error = '{"error":"ValueError","message":"The \\"Card\\" is gone"}', created_at = now() - interval '2 hours',
      not_before = now() - interval '2 hours', updated_at = now() - interval '119 minutes 59 seconds',
      caller = '{"langgraph_auth_user_id":"ann"}' where run_id = ${failed.run_id}`)
  await http.db.run(sql`
    update runs set status = 'success', created_at = now() - interval '1 hour', not_before = now() - interval '1 hour',
      updated_at = now() - interval '50 minutes' where run_id = ${slow.run_id}`)
  const by = async (body: object) => idsOf(await search(http, body))
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()

  assert.deepEqual(await by({}), [waiting.run_id, slow.run_id, failed.run_id])
  assert.deepEqual(await by({ status: "error" }), [failed.run_id])
  assert.deepEqual(await by({ status: ["error", "pending"] }), [waiting.run_id, failed.run_id])
  assert.deepEqual(await by({ thread_id: slow.thread_id }), [slow.run_id])
  assert.deepEqual(await by({ graph_id: "agent", user_id: "ann" }), [failed.run_id])
  assert.deepEqual(await by({ graph_id: "other" }), [])
  assert.deepEqual(await by({ metadata: { user: "ann" } }), [failed.run_id])
  assert.deepEqual(await by({ error: 'valueerror: the "card"' }), [failed.run_id])
  assert.deepEqual(await by({ error: "message" }), [])
  assert.deepEqual(await by({ min_seconds: 60 }), [slow.run_id])
  assert.deepEqual(await by({ status: ["success", "error"], max_seconds: 60 }), [failed.run_id])
  assert.deepEqual(await by({ created_after: hoursAgo(1.5), created_before: hoursAgo(0.5) }), [slow.run_id])
  const [found] = (await search(http, { user_id: "ann" })).runs
  const [selected] = (await search(http, { user_id: "ann", select: ["run_id", "user_id"] })).runs
  assert.deepEqual([found?.graph_id, found?.user_id], ["agent", "ann"])
  assert.deepEqual(selected, { run_id: failed.run_id, user_id: "ann" })
})

test("runs are found by the revision that executed their last attempt, whether it claimed them at once or from the queue", async () => {
  await using db = await serverDatabase()
  await db.run(sql`insert into serving_revisions (revision_id) values ('revision-1')`)
  await using http = await startTestHttp(db, { revisionId: "revision-1", slots: 1 })
  const atOnce = await addRun(http)
  const queued = await addRun(http)
  const waiting = await addRun(http, { after_seconds: 3600 })
  const by = async (revision: string) => idsOf(await search(http, { revision_id: revision })).toSorted()
  assert.deepEqual(await by("revision-1"), [atOnce.run_id])

  ;(await executing(atOnce.run_id, http)).done({ values: "{}" })
  await executing(queued.run_id, http)

  assert.deepEqual(await by("revision-1"), [atOnce.run_id, queued.run_id].toSorted())
  assert.deepEqual(await by("revision-2"), [])
  const shown = (await search(http, {})).runs.find(({ run_id }) => run_id === waiting.run_id)
  assert.equal(shown?.revision_id, null)
})

test("pages follow each other without a gap or a repetition, also among equal times", async () => {
  await using http = await freshHttp({ slots: 0 })
  const all: string[] = []
  for (let n = 0; n < 7; n++) all.push((await addRun(http)).run_id)
  await http.db.run(sql`update runs set created_at = '2026-01-02T03:04:05.123456Z' where seq <= 5`)
  const seen: string[] = []
  let cursor: string | null = null
  let pages = 0
  do {
    const page: Page = await search(http, { limit: 2, cursor })
    seen.push(...idsOf(page))
    cursor = page.next
    pages++
  } while (cursor !== null)

  assert.deepEqual(seen.toSorted(), all.toSorted())
  assert.deepEqual(idsOf(await search(http, { limit: 7 })), seen)
  assert.equal(pages, 4)
})

test("a search that matches little reads a bounded number of runs for each page, and reaches all of them", async () => {
  await using http = await freshHttp({ slots: 0 })
  const oldest = await addRun(http, { metadata: { wanted: true } })
  await http.db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, created_at)
    select gen_random_uuid(), thread_id, assistant_id, graph_id, 'success', '{}', '{}', 'enqueue', now() + make_interval(secs => n)
    from runs, generate_series(1, 4500) n where run_id = ${oldest.run_id}`)
  const filter = { metadata: { wanted: true } }

  const first = await search(http, { ...filter })
  const second = await search(http, { ...filter, cursor: first.next })
  const third = await search(http, { ...filter, cursor: second.next })

  assert.deepEqual([idsOf(first), idsOf(second), idsOf(third)], [[], [], [oldest.run_id]])
  assert.equal(third.next, null)
})

test("a page says until which time it has looked, whether its runs match or not", async () => {
  await using http = await freshHttp({ slots: 0 })
  for (let n = 0; n < 3; n++) await addRun(http)
  const [first] = (await search(http, {})).runs
  await http.db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, created_at)
    select gen_random_uuid(), thread_id, assistant_id, graph_id, 'success', '{}', '{}', 'enqueue', '2100-01-01T00:00:00Z'::timestamptz + make_interval(secs => n)
    from runs, generate_series(1, 2500) n where run_id = ${first?.run_id}`)

  const full = await search(http, { limit: 2 })
  const sparse = await search(http, { status: "error" })
  const last = await search(http, { status: "error", cursor: sparse.next })
  const left = await search(http, { limit: 2, created_before: "2100-01-01T00:00:00Z" })

  assert.equal(full.read_until, full.runs.at(-1)?.created_at)
  assert.deepEqual([sparse.runs, sparse.read_until], [[], "2100-01-01T00:08:21.000Z"])
  assert.deepEqual([last.next, last.read_until], [null, null])
  assert.equal(left.read_until, left.runs[1]?.created_at)
})

test("a run without a thread of its own says so", async () => {
  await using http = await freshHttp({ slots: 0 })
  const own = await addRun(http)
  const stateless = (await http.send("POST", "/runs", { assistant_id: "agent", input: { text: "hi" } })).json as Found

  const { runs } = await search(http, { select: ["run_id", "is_stateless"] })

  assert.deepEqual(runs, [
    { run_id: stateless.run_id, is_stateless: true },
    { run_id: own.run_id, is_stateless: false },
  ])
})

test("only runs of threads that the caller may see are found", async () => {
  await using http = await freshHttp({ slots: 0 })
  const anns = await addRun(http, {}, { owner: "ann" })
  await addRun(http, {}, { owner: "bob" })
  const options = { filter: {}, after: undefined, limit: 10, withMetadata: true, withKwargs: true }

  const { runs } = await searchRuns(http.db, { ...options, access: { owner: "ann" } })

  assert.deepEqual(fieldsOf(runs, "run_id"), [anns.run_id])
})

test("neither a rule nor a thread makes a search read a table from end to end", async () => {
  await using db = await serverDatabase()
  await db.run(sql`
    insert into threads (thread_id, metadata) select gen_random_uuid(), json_build_object('owner', 'u' || n % 1000) from generate_series(1, 30000) n`)
  await db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy)
    select gen_random_uuid(), thread_id, gen_random_uuid(), 'agent', 'success', '{}', '{}', 'enqueue' from threads`)
  await db.run(sql`analyze`)
  const thread = await db.row<{ thread_id: string }>(sql`select thread_id from threads limit 1`)
  const options = { after: undefined, limit: 10, withMetadata: false, withKwargs: false }
  const reads = (search: Pick<RunSearch, "filter" | "access">) =>
    db.transaction((tx) => wholeReads(tx, ["threads", "runs"], () => searchRuns(tx, { ...options, ...search })))

  assert.equal(await reads({ filter: {}, access: { owner: "u5" } }), 0)
  assert.equal(await reads({ filter: { threadId: thread?.thread_id }, access: undefined }), 0)
  assert.equal(await reads({ filter: { statuses: ["error"] }, access: undefined }), 0)
})
