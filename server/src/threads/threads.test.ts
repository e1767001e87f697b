/** Whole threads over HTTP, on a real database. Their state needs graphs: tests/src/sdk/threads.test.ts. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { v7 as uuidv7 } from "uuid"
import { putCheckpoint, putWrites } from "../checkpoints/queries.js"
import { checkpoint, nodeWrite } from "../checkpoints/testing/claimed-runs.js"
import { freshHttp, type TestHttp } from "../testing/test-http.js"

// biome-ignore lint/suspicious/noExplicitAny: each test asserts the fields that it reads
type Json = any

async function create(http: TestHttp, body: object = {}): Promise<Json> {
  const { status, json } = await http.send("POST", "/threads", body)
  assert.equal(status, 200)
  return json
}

const names = ({ json }: { json: unknown }) => (json as Json[]).map(({ metadata }) => metadata.name).join("")

/** Saves a root checkpoint with one channel and one write, as a run would. */
async function addCheckpoint(db: Database, threadId: string, checkpointId: string, parentCheckpointId: string | null) {
  const metadata = JSON.stringify({ source: "loop", thread_id: threadId })
  const saved = checkpoint({ threadId }, checkpointId, { parentCheckpointId, metadata })
  await putCheckpoint(db, undefined, saved)
  await putWrites(db, undefined, saved, [nodeWrite()])
}

/** How many rows of each kind a thread has. */
async function rowsOf(db: Database, threadId: string): Promise<readonly number[]> {
  const row = await db.row<{ counts: number[] }>(sql`
    select array[(select count(*) from threads where thread_id = ${threadId}::uuid),
      (select count(*) from runs where thread_id = ${threadId}::uuid),
      (select count(*) from thread_ttls where thread_id = ${threadId}::uuid),
      (select count(*) from checkpoints where thread_id = ${threadId}::text),
      (select count(*) from checkpoint_blobs where thread_id = ${threadId}::text),
      (select count(*) from checkpoint_writes where thread_id = ${threadId}::text)]::int[] as counts`)
  return row?.counts ?? []
}

test("a search filters by metadata, state, status and ids, with the requested order and pages", async () => {
  await using http = await freshHttp()
  const made: Json[] = []
  for (const name of ["a", "b", "c"]) made.push(await create(http, { metadata: { name, deep: { of: name, all: 1 } } }))
  const [a, b, c] = made.map(({ thread_id }) => thread_id)
  const values = '{"log":[1,2],"odd":"\\u0000"}'
  await http.db.run(sql`update threads set values = ${values}, status = 'interrupted' where thread_id = ${b}`)
  const stateless = '{"name":"stateless"}'
  await http.db.run(
    sql`insert into threads (thread_id, is_ephemeral, metadata) values (${uuidv7()}, true, ${stateless})`,
  )
  const search = (body: object) => http.send("POST", "/threads/search", body)
  const count = async (body: object) => (await http.send("POST", "/threads/count", body)).json

  assert.equal(names(await search({})), "cba")
  assert.equal(names(await search({ sort_by: "created_at", sort_order: "asc" })), "abc")
  assert.equal(names(await search({ metadata: { deep: { of: "a" } } })), "a")
  assert.equal(names(await search({ metadata: { deep: { of: "a", more: 1 } } })), "")
  assert.equal(names(await search({ values: { log: [2] } })), "b")
  assert.equal(names(await search({ status: "interrupted" })), "b")
  assert.equal(names(await search({ ids: [a, c], sort_by: "thread_id", sort_order: "asc" })), "ac")
  assert.equal(names(await search({ ids: [] })), "")
  assert.deepEqual([await count({}), await count({ status: "idle" }), await count({ values: { log: [3] } })], [3, 2, 0])
  const ofIds = [{ ids: [a, c] }, { ids: [a], status: "interrupted" }, { ids: [] }]
  assert.deepEqual(await Promise.all(ofIds.map(count)), [2, 0, 0])

  const page = await search({ limit: 2 })
  const last = await search({ limit: 2, offset: 2 })
  const beyond = await search({ offset: 1000 })
  const headers = ({ headers }: { headers: Headers }) =>
    ["total", "next"].map((name) => headers.get(`x-pagination-${name}`))
  assert.deepEqual([names(page), headers(page)], ["cb", ["3", "2"]])
  assert.deepEqual([names(last), headers(last)], ["a", ["3", null]])
  assert.deepEqual([beyond.json, headers(beyond)], [[], ["3", null]])

  await http.send("PATCH", `/threads/${a}`, { metadata: { changed: true } })
  assert.equal(names(await search({})), "acb")
  assert.equal(names(await search({ sort_by: "state_updated_at" })), "cba")
})

test("a search finds text in the state, in any case, and threads that were updated within a time", async () => {
  await using http = await freshHttp()
  for (const [name, values, at] of [
    ["a", { messages: [{ content: 'Where is "Zürich"?' }] }, "2026-01-01T00:00:00Z"],
    ["b", { messages: [{ content: "100% of C:\\temp\nand more" }] }, "2026-01-02T00:00:00Z"],
    ["c", null, "2026-01-03T00:00:00Z"],
  ] as const) {
    const { thread_id } = await create(http, { metadata: { name } })
    const text = values === null ? null : JSON.stringify(values)
    await http.db.run(sql`update threads set values = ${text}::json, updated_at = ${at} where thread_id = ${thread_id}`)
  }
  const search = async (body: object) => {
    const count = await http.send("POST", "/threads/count", body)
    const found = names(await http.send("POST", "/threads/search", body))
    assert.equal(count.json, found.length)
    return found
  }

  assert.equal(await search({ text: "zÜRICH" }), "a")
  assert.equal(await search({ text: 'is "zürich"' }), "a")
  assert.equal(await search({ text: "C:\\temp\nand" }), "b")
  assert.equal(await search({ text: "100%" }), "b")
  assert.equal(await search({ text: "%" }), "b")
  assert.equal(await search({ text: "" }), "cba")
  assert.equal(await search({ text: "of", metadata: { name: "a" } }), "")
  assert.equal(await search({ updated_after: "2026-01-02T00:00:00Z" }), "cb")
  assert.equal(await search({ updated_before: "2026-01-02T01:00:00+01:00" }), "a")
  assert.equal(await search({ updated_after: "2026-01-01T12:00:00Z", updated_before: "2026-01-02T12:00:00Z" }), "b")
})

test("a search returns the requested fields and values", async () => {
  await using http = await freshHttp()
  const { thread_id } = await create(http, { metadata: { name: "a" } })
  await http.db.run(sql`
    update threads set values = '{"messages":[{"content":"hi"},{"content":"\\u0000"}],"n":{"m":1.5}}' where thread_id = ${thread_id}`)

  const extracts = Object.entries({
    last: ["values.messages[-1].content", "\0"],
    first: ["values.messages[0]", { content: "hi" }],
    none: ["values.messages[7].content", null],
    number: ["values.n.m", 1.5],
    name: ["metadata.name", "a"],
    inherited: ["values.constructor", null],
    all: ["interrupts", {}],
  })

  const { json } = await http.send("POST", "/threads/search", {
    select: ["thread_id", "metadata"],
    extract: Object.fromEntries(extracts.map(([name, [path]]) => [name, path])),
  })

  const extracted = Object.fromEntries(extracts.map(([name, [, value]]) => [name, value]))
  assert.deepEqual(json, [{ thread_id, metadata: { name: "a" }, extracted }])
})

test("metadata is merged by key, also for concurrent changes, and a minimal response has no body", async () => {
  await using http = await freshHttp()
  const { thread_id, updated_at } = await create(http, { metadata: { a: { x: 1 }, b: 1 } })
  const path = `/threads/${thread_id}`

  const changed = await http.send("PATCH", path, { metadata: { a: { y: 2 } } })
  const many = Array.from({ length: 8 }, (_, n) => http.send("PATCH", path, { metadata: { [`k${n}`]: n } }))
  await Promise.all(many)
  const minimal = await http.send("PATCH", path, { metadata: { c: null } }, { prefer: "return=minimal" })
  const existing = await http.send("POST", "/threads", { thread_id, if_exists: "do_nothing" })

  assert.deepEqual((changed.json as Json).metadata, { a: { y: 2 }, b: 1 })
  assert.ok((changed.json as Json).updated_at > updated_at)
  assert.deepEqual([minimal.status, minimal.text], [204, ""])
  assert.deepEqual([existing.status, (existing.json as Json).metadata.b], [200, 1])
  const { json } = await http.send("GET", path)
  const merged = Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`k${n}`, n]))
  assert.deepEqual((json as Json).metadata, { a: { y: 2 }, b: 1, c: null, ...merged })
})

test("T3: deleting a thread with a running run cancels the run at its worker, and its client gets an end", async () => {
  await using http = await freshHttp()
  const { thread_id } = await create(http, { ttl: { ttl: 5 } })
  await addCheckpoint(http.db, thread_id, "1", null)
  const stream = await http.stream("POST", `/threads/${thread_id}/runs/stream`, { assistant_id: "agent", input: {} })
  const waiting = await http.send("POST", `/threads/${thread_id}/runs`, { assistant_id: "agent", input: {} })
  assert.equal(waiting.status, 200)
  const [run] = http.server.workers.started

  const { status } = await http.send("DELETE", `/threads/${thread_id}`)

  assert.equal(status, 204)
  await stream.ended
  assert.equal(stream.events().at(-1)?.event, "end")
  await until(() => run?.isCancelled, { what: "the worker is asked to stop" })
  assert.deepEqual(await rowsOf(http.db, thread_id), [0, 0, 0, 0, 0, 0])
  assert.equal((await http.send("GET", `/threads/${thread_id}`)).status, 404)
  assert.equal((await http.send("DELETE", `/threads/${thread_id}`)).status, 404)
})

test("a copy has everything of a thread except its runs, and is independent of it", async () => {
  await using http = await freshHttp()
  const { thread_id } = await create(http, { metadata: { name: "a" } })
  await addCheckpoint(http.db, thread_id, "1", null)
  await addCheckpoint(http.db, thread_id, "2", "1")
  await http.db.run(sql`
    update threads set values = '{"n":1.0}', interrupts = '{"t":[]}', status = 'busy' where thread_id = ${thread_id}`)

  const { status, json, text } = await http.send("POST", `/threads/${thread_id}/copy`)
  const copy = json as Json
  await http.send("DELETE", `/threads/${thread_id}`)

  assert.equal(status, 200)
  assert.notEqual(copy.thread_id, thread_id)
  assert.deepEqual(copy.metadata, { name: "a", thread_id: copy.thread_id })
  assert.deepEqual([copy.status, copy.interrupts], ["interrupted", { t: [] }])
  assert.match(text, /"values":\{"n":1\.0\}/)
  assert.deepEqual(await rowsOf(http.db, copy.thread_id), [1, 0, 0, 2, 2, 2])
  const row = await http.db.row<{ ids: string[] }>(sql`
    select array_agg(distinct metadata ->> 'thread_id') as ids from checkpoints where thread_id = ${copy.thread_id}`)
  assert.deepEqual(row?.ids, [copy.thread_id])
  assert.equal((await http.send("POST", `/threads/${thread_id}/copy`)).status, 409)
})

test("pruning deletes threads, or all but the newest checkpoints of those without a run in flight", async () => {
  await using http = await freshHttp()
  const [gone, kept, busy] = [await create(http), await create(http), await create(http)].map((it) => it.thread_id)
  for (const id of [gone, kept, busy]) {
    await addCheckpoint(http.db, id, "1", null)
    await addCheckpoint(http.db, id, "2", "1")
  }
  await http.send("POST", `/threads/${busy}/runs`, { assistant_id: "agent", input: {} })
  const prune = (body: object) => http.send("POST", "/threads/prune", body)

  const latest = await prune({ thread_ids: [kept, busy, uuidv7()], strategy: "keep_latest" })
  const deleted = await prune({ thread_ids: [gone, gone, uuidv7()] })

  assert.deepEqual([latest.json, deleted.json], [{ pruned_count: 1 }, { pruned_count: 1 }])
  assert.deepEqual(await rowsOf(http.db, kept), [1, 0, 0, 1, 1, 1])
  assert.deepEqual(await rowsOf(http.db, busy), [1, 1, 0, 2, 2, 2])
  assert.deepEqual(await rowsOf(http.db, gone), [0, 0, 0, 0, 0, 0])
  const ids = sql`select checkpoint_id, parent_checkpoint_id from checkpoints where thread_id = ${kept}`
  assert.deepEqual(await http.db.rows(ids), [{ checkpoint_id: "2", parent_checkpoint_id: null }])
})

test("storage returns the size of each part of a thread", async () => {
  await using http = await freshHttp()
  const { thread_id } = await create(http)
  await addCheckpoint(http.db, thread_id, "1", null)
  await addCheckpoint(http.db, thread_id, "2", "1")

  const { json } = await http.send("GET", `/threads/${thread_id}/storage`)

  const { total_bytes, checkpoints, channel_values, pending_writes } = json as Json
  assert.deepEqual([checkpoints.count, channel_values.count, pending_writes.count], [2, 2, 2])
  assert.equal(channel_values.by_channel.messages.versions, 2)
  assert.equal(channel_values.by_channel.messages.bytes, channel_values.bytes)
  assert.equal(total_bytes, checkpoints.bytes + channel_values.bytes + pending_writes.bytes)
  assert.ok(pending_writes.bytes > 0)
})

const manyPaths = Object.fromEntries("abcdefghijk".split("").map((k) => [k, "values"]))
const bad: [string, string, unknown][] = [
  ["POST /threads", "thread_id", { thread_id: "x" }],
  ["POST /threads", "ttl.ttl", { ttl: { ttl: 1e300 } }],
  ["POST /threads", "ttl.ttl", { ttl: { ttl: -1 } }],
  ["POST /threads", "supersteps.0.updates", { supersteps: [{ updates: [] }] }],
  ["POST /threads", "supersteps.0.updates.0.as_node", { supersteps: [{ updates: [{ values: {} }] }] }],
  ["POST /threads/search", "limit", { limit: 1001 }],
  ["POST /threads/search", "extract.a", { extract: { a: "threads.x" } }],
  ["POST /threads/search", "extract.a", { extract: { a: "values.messages[x]" } }],
  ["POST /threads/search", "extract", { extract: manyPaths }],
  ["POST /threads/count", "text", { text: "\0" }],
  ["POST /threads/search", "updated_after", { updated_after: "yesterday" }],
  ["POST /threads/search", "updated_before", { updated_before: "99999-01-01T00:00:00Z" }],
  ["PATCH /threads/x", "thread_id", {}],
  ["GET /threads/T/state/x", "checkpoint_id", undefined],
  ["POST /threads/T/state/checkpoint", "checkpoint_ns", { checkpoint: { checkpoint_ns: "\0" } }],
  ["POST /threads/T/state/checkpoint", "select.0", { checkpoint: {}, select: ["valuesx"] }],
  ["POST /threads/T/state", "checkpoint_id", { values: {}, checkpoint_id: "1" }],
  ["POST /threads/T/history", "before", { before: "1" }],
]

test("an invalid field is rejected by name, and nothing changes", async (t) => {
  await using http = await freshHttp()
  const { thread_id } = await create(http, { metadata: { graph_id: "agent" } })
  const all = () => http.db.rows(sql`select * from threads`)
  const before = await all()

  for (const [route, field, body] of bad) {
    await t.test(`${route} ${field}`, async () => {
      const [method = "", path = ""] = route.split(" ")
      const { status, json } = await http.send(method, path.replace("/T", `/${thread_id}`), body)

      assert.equal(status, 422)
      assert.match((json as Json).detail, new RegExp(field.replaceAll(".", "\\.")))
      assert.equal((json as Json).code, "invalid_input")
    })
  }
  const odd = { metadata: { a: "\0\ud800", n: 1e308 }, values: { b: "\0" } }
  const limits = await http.send("POST", "/threads/search", odd)
  assert.deepEqual([limits.status, limits.json], [200, []])
  assert.deepEqual(await all(), before)
})
