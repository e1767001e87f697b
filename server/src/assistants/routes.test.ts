import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { freshHttp, type TestHttp, type TestHttpOptions } from "../testing/test-http.js"
import { insertSystemAssistants } from "./queries.js"

// The id that LangGraph's own servers give to the graph `agent` (agent-server-api §2.3).
const agentId = "fe096781-5601-53d2-b2f6-0d3403f7e9ca"

type Json = Record<string, unknown>
const one = (value: unknown) => value as Json
const many = (value: unknown) => value as Json[]

const create = async (http: TestHttp, body: Json) => {
  const reply = await http.send("POST", "/assistants", { graph_id: "agent", ...body })
  assert.equal(reply.status, 200, reply.text)
  return one(reply.json)
}

const namesOf = async (http: TestHttp, body: Json) =>
  many((await http.send("POST", "/assistants/search", body)).json).map(({ name }) => name)

const start = (options: TestHttpOptions = {}) => freshHttp({ graphs: ["agent"], ...options })

test("an assistant is created with the given fields and defaults for the others; an id in use is a conflict unless the client accepts it", async () => {
  await using http = await start()

  const plain = await create(http, {})
  const full = await create(http, {
    assistant_id: "0199D0B0-0000-7000-8000-0000000000AB",
    name: "Full",
    description: "all of it",
    config: { configurable: { model: "x" }, tags: ["t"], recursion_limit: null },
    context: { tone: "dry" },
    metadata: { owner: "ann", odd: "a\u0000b" },
  })

  const { assistant_id, created_at, updated_at, ...rest } = plain
  assert.match(String(assistant_id), /^[0-9a-f-]{36}$/)
  assert.ok(!Number.isNaN(Date.parse(String(created_at))) && created_at === updated_at)
  const defaults = { name: "Untitled", description: null, config: {}, context: {}, metadata: {}, version: 1 }
  assert.deepEqual(rest, { graph_id: "agent", ...defaults })
  assert.equal(full.assistant_id, "0199d0b0-0000-7000-8000-0000000000ab")
  assert.deepEqual(full.config, { configurable: { model: "x" }, tags: ["t"] })
  assert.deepEqual(full.context, { tone: "dry" })
  assert.deepEqual(full.metadata, { owner: "ann", odd: "a\u0000b" })
  assert.deepEqual((await http.send("GET", `/assistants/${full.assistant_id}`)).json, full)

  const existing = await create(http, { name: "existing" })
  const again = { graph_id: "agent", assistant_id: existing.assistant_id, name: "second" }

  const refused = await http.send("POST", "/assistants", again)
  const taken = await http.send("POST", "/assistants", { ...again, if_exists: "do_nothing" })

  assert.deepEqual([refused.status, one(refused.json).detail], [409, "Assistant already exists"])
  assert.deepEqual(taken.json, existing)
})

test("a graph's name is accepted in place of its system assistant's id", async () => {
  await using http = await start()

  const byName = one((await http.send("GET", "/assistants/agent")).json)
  const changed = one((await http.send("PATCH", "/assistants/agent", { name: "Mine" })).json)
  const versions = many((await http.send("POST", "/assistants/agent/versions")).json)
  const back = one((await http.send("POST", "/assistants/agent/latest", { version: 1 })).json)

  assert.equal(byName.assistant_id, agentId)
  assert.deepEqual([byName.name, byName.version, byName.metadata], ["agent", 1, { created_by: "system" }])
  assert.deepEqual([changed.name, changed.version], ["Mine", 2])
  assert.deepEqual(fieldsOf(versions, "version"), [2, 1])
  assert.deepEqual([back.name, back.version], ["agent", 1])
})

test("a system assistant is updated with its project until a client changes it, and is created again after deletion", async () => {
  await using http = await start()
  const { db } = http
  const read = async () => one((await http.send("GET", "/assistants/agent")).json)
  const project = { agent: { description: "helps", config: { configurable: { model: "x" } }, context: { a: 1 } } }

  await insertSystemAssistants(db, ["agent"], project)
  const followed = await read()
  await http.send("PATCH", "/assistants/agent", { description: "mine" })
  await insertSystemAssistants(db, ["agent"], project)
  const kept = await read()
  await http.send("DELETE", "/assistants/agent")
  const gone = await http.send("GET", "/assistants/agent")
  await insertSystemAssistants(db, ["agent"], project)
  const returned = await read()

  assert.deepEqual([followed.description, followed.config, followed.context], ["helps", ...valuesOf(project.agent)])
  assert.equal(followed.version, 1)
  assert.deepEqual([kept.description, kept.version], ["mine", 2])
  assert.equal(gone.status, 404)
  assert.deepEqual([returned.assistant_id, returned.description, returned.version], [agentId, "helps", 1])
})

const valuesOf = ({ config, context }: { config: unknown; context: unknown }) => [config, context]

test("every change creates a version, also concurrent ones: metadata is merged, other fields are replaced, null and absent fields are kept", async () => {
  await using http = await start()
  const configurable = { x: 1, y: 2 }
  const fields = { name: "a", description: "d", context: { c: 1 }, metadata: { k: 1, deep: { a: 1 } } }
  const { assistant_id: id } = await create(http, { ...fields, config: { configurable } })

  const key = { "idempotency-key": randomUUID() }
  const patch = async (body: object, headers = {}) =>
    one((await http.send("PATCH", `/assistants/${id}`, body, headers)).json)
  const second = await patch({}, key)
  const repeated = await patch({}, key)
  const cleared = { name: null, description: null }
  const third = await patch({ config: { configurable: { x: 3 } }, metadata: { deep: { b: 2 } }, ...cleared })

  assert.equal(second.version, 2)
  assert.deepEqual(repeated, second)
  assert.deepEqual([second.name, second.description, second.context], ["a", "d", { c: 1 }])
  assert.equal(third.version, 3)
  assert.deepEqual(third.config, { configurable: { x: 3 } })
  assert.deepEqual(third.metadata, { k: 1, deep: { b: 2 } })
  assert.deepEqual([third.name, third.description, third.context], ["a", "d", { c: 1 }])

  const { assistant_id: other } = await create(http, {})
  const keys = ["a", "b", "c", "d", "e", "f"]

  const changes = keys.map((key) => http.send("PATCH", `/assistants/${other}`, { metadata: { [key]: true } }))
  const versions = (await Promise.all(changes)).map(({ json }) => one(json).version)

  assert.deepEqual(versions.sort(), [2, 3, 4, 5, 6, 7])
  const last = one((await http.send("GET", `/assistants/${other}`)).json)
  assert.deepEqual(Object.keys(last.metadata as Json).sort(), keys)
})

test("an earlier version is restored completely, and the next change still gets a new number", async () => {
  await using http = await start()
  const first = await create(http, { name: "a", description: "d", context: { c: 1 }, metadata: { v: 1 } })
  const path = `/assistants/${first.assistant_id}`
  await http.send("PATCH", path, { name: "b", description: "e", context: { c: 2 }, metadata: { v: 2 } })

  const back = one((await http.send("POST", `${path}/latest?version=1`)).json)
  const next = one((await http.send("PATCH", path, { name: "c" })).json)
  const versions = many((await http.send("POST", `${path}/versions`, { limit: 2 })).json)
  const filtered = many((await http.send("POST", `${path}/versions`, { metadata: { v: 2 } })).json)

  assert.deepEqual({ ...back, updated_at: first.updated_at }, first)
  assert.deepEqual([next.version, next.name, next.metadata], [3, "c", { v: 1 }])
  assert.deepEqual(fieldsOf(versions, "version", "name", "updated_at"), [
    [3, "c", undefined],
    [2, "b", undefined],
  ])
  assert.deepEqual(fieldsOf(filtered, "version"), [2])
  const unknown = await http.send("POST", `${path}/latest`, { version: 9 })
  assert.deepEqual([unknown.status, one(unknown.json).detail], [404, "Assistant version not found"])
})

test("a search filters, sorts, pages and selects, and returns the total", async () => {
  await using http = await start()
  const teams = { "Ann's 100%": "x", bob: "x", Cleo: "y" }
  for (const [name, team] of Object.entries(teams)) await create(http, { name, metadata: { team, odd: "\u0000" } })

  assert.deepEqual(await namesOf(http, {}), ["Cleo", "bob", "Ann's 100%", "agent"])
  assert.deepEqual(await namesOf(http, { metadata: { team: "x" } }), ["bob", "Ann's 100%"])
  assert.deepEqual(await namesOf(http, { metadata: { team: "x", odd: "\u0000" }, name: "B" }), ["bob"])
  assert.deepEqual(await namesOf(http, { metadata: { created_by: "system" } }), ["agent"])
  assert.deepEqual(await namesOf(http, { name: "0%" }), ["Ann's 100%"])
  assert.deepEqual(await namesOf(http, { name: "_" }), [])
  assert.deepEqual(await namesOf(http, { graph_id: "other" }), [])
  const page2 = { sort_by: "created_at", sort_order: "asc", offset: 1, limit: 2 }
  assert.deepEqual(await namesOf(http, page2), ["Ann's 100%", "bob"])
  const page = await http.send("POST", "/assistants/search", { limit: 2, select: ["name", "metadata"] })
  assert.deepEqual(Object.keys(one(many(page.json)[0])).sort(), ["metadata", "name"])
  assert.equal(page.headers.get("x-pagination-total"), "4")
  assert.equal(page.headers.get("x-pagination-next"), "2")
  const last = await http.send("GET", "/assistants?limit=2&offset=2&sort_by=name&sort_order=asc")
  assert.equal(many(last.json).length, 2)
  assert.equal(last.headers.get("x-pagination-next"), null)
  assert.equal((await http.send("POST", "/assistants/count", { metadata: { team: "x" } })).json, 2)
  assert.equal((await http.send("POST", "/assistants/count")).json, 4)
})

test("deleting an assistant deletes its versions, and its runs continue", async () => {
  await using http = await start()
  const { assistant_id: id } = await create(http, {})
  const thread = one((await http.send("POST", "/threads", {})).json)
  const stream = await http.stream("POST", `/threads/${thread.thread_id}/runs/stream`, { assistant_id: id, input: {} })

  const reply = await http.send("DELETE", `/assistants/${id}`)
  http.server.workers.started[0]?.done()
  await stream.ended

  assert.deepEqual([reply.status, reply.json], [200, [id]])
  assert.equal(stream.events().at(-1)?.event, "end")
  assert.equal((await http.send("GET", `/threads/${thread.thread_id}`)).status, 200)
  for (const [method, path] of [
    ["GET", ""],
    ["PATCH", ""],
    ["DELETE", ""],
    ["POST", "/versions"],
  ] as const) {
    const gone = await http.send(method, `/assistants/${id}${path}`)
    assert.deepEqual([gone.status, one(gone.json).detail], [404, "Assistant not found"], `${method} ${path}`)
  }
})

test("on request, an assistant's threads are deleted with it and their runs are stopped", async () => {
  // Without a hint the follower's stream would end much later, when the server next asks for the thread.
  await using http = await start({ threadTtlMs: 3_600_000 })
  const { assistant_id: id } = await create(http, {})
  const mine = one((await http.send("POST", "/threads", {})).json).thread_id
  const marked = one((await http.send("POST", "/threads", { metadata: { assistant_id: id } })).json).thread_id
  const other = one((await http.send("POST", "/threads", {})).json).thread_id
  const running = await http.stream("POST", `/threads/${mine}/runs/stream`, { assistant_id: id, input: {} })
  const waiting = await http.stream("POST", `/threads/${mine}/runs/stream`, { assistant_id: id, input: {} })
  await http.send("POST", `/threads/${other}/runs`, { assistant_id: "agent", input: {} })

  const follower = await http.stream("GET", `/threads/${marked}/stream`)

  await http.send("DELETE", `/assistants/${id}?delete_threads=true`)
  await Promise.all([running.ended, waiting.ended, follower.ended])

  assert.equal(http.server.workers.started.find(({ order }) => order.threadId === mine)?.isCancelled, true)
  assert.equal(waiting.events().at(-1)?.event, "end")
  for (const [id, status] of [
    [mine, 404],
    [marked, 404],
    [other, 200],
  ] as const)
    assert.equal((await http.send("GET", `/threads/${id}`)).status, status)
})

test("an assistant's threads are deleted in portions, and a repeated request goes on where one has failed", async () => {
  await using http = await start()
  const { db } = http.server
  const { assistant_id: id } = await create(http, {})
  const add = (count: number) =>
    db.run(sql`insert into threads (thread_id, metadata) select gen_random_uuid(), ${JSON.stringify({ assistant_id: id })}
      from generate_series(1, ${count})`)
  await add(250)
  await http.send("POST", "/runs", { assistant_id: id, input: {} })
  await db.run(sql`create sequence deletions`)
  await db.run(sql`
    create function end_later() returns trigger language plpgsql as $$
    begin
      if nextval('deletions') = 150 then raise 'the database ends'; end if;
      return old;
    end $$`)
  await db.run(sql`create trigger fail before delete on threads for each row execute function end_later()`)
  const left = async () => (await db.row<{ n: number }>(sql`select count(*) as n from threads`))?.n

  const failed = await http.send("DELETE", `/assistants/${id}?delete_threads=true`)
  const leftThen = [await left(), (await http.send("GET", `/assistants/${id}`)).status]
  const repeated = await http.send("DELETE", `/assistants/${id}?delete_threads=true`)

  assert.deepEqual([failed.status, ...leftThen], [500, 151, 200])
  assert.deepEqual([repeated.status, await left()], [200, 0])
  assert.equal((await http.send("GET", `/assistants/${id}`)).status, 404)
  // A stateless run is stopped, too.
  assert.equal(http.server.workers.started[0]?.isCancelled, true)
})

test("a number with as many decimal places as jsonb takes is stored", async () => {
  await using http = await start()

  const { status, text } = await http.send("POST", "/assistants", '{"graph_id":"agent","metadata":{"n":1e-16383}}')

  assert.equal(status, 200, text)
})

const bad: readonly (readonly [string, string, unknown, number, RegExp])[] = [
  ["POST", "/assistants", {}, 422, /body\.graph_id/],
  ["POST", "/assistants", { graph_id: "nope" }, 404, /Graph "nope" not found/],
  ["POST", "/assistants", { graph_id: "agent", assistant_id: "no-uuid" }, 422, /expected a UUID/],
  ["POST", "/assistants", { graph_id: "agent", name: "a\u0000" }, 422, /body\.name/],
  ["POST", "/assistants", '{"graph_id":"agent","metadata":{"n":1e-16384}}', 422, /body\.metadata\.n/],
  ["POST", "/assistants", '{"graph_id":"agent","name":"\\ud800"}', 422, /body\.name/],
  ["POST", "/assistants", { graph_id: "agent", config: { recursion_limit: -1 } }, 422, /recursion_limit/],
  ["POST", "/assistants", "{", 422, /not valid JSON/],
  ["POST", "/assistants/search", { limit: 1e9 }, 422, /body\.limit/],
  ["POST", "/assistants/search", { name: "\u0000" }, 422, /body\.name/],
  ["GET", "/assistants?graph_id=a&graph_id=b", undefined, 422, /query\.graph_id/],
  ["GET", `/assistants/${randomUUID()}`, undefined, 404, /Assistant not found/],
  ["PATCH", "/assistants/nope", {}, 404, /Assistant not found/],
  ["PATCH", "/assistants/agent", { graph_id: "nope" }, 404, /Graph "nope" not found/],
  ["DELETE", "/assistants/nope", undefined, 404, /Assistant not found/],
  ["POST", "/assistants/nope/versions", {}, 404, /Assistant not found/],
  ["POST", "/assistants/nope/latest", { version: 1 }, 404, /Assistant not found/],
  ["POST", "/assistants/agent/latest", {}, 422, /body\.version/],
  ["POST", "/assistants/agent/latest?version=one", undefined, 422, /query\.version/],
]

test("invalid requests are rejected with the expected form, and change nothing", async () => {
  await using http = await start()
  const before = await http.send("POST", "/assistants/search")

  for (const [method, path, body, status, detail] of bad) {
    const reply = await http.send(method, path, body)
    assert.equal(reply.status, status, `${method} ${path} ${JSON.stringify(body)}: ${reply.text}`)
    assert.match(String(one(reply.json).detail), detail)
    assert.equal(typeof one(reply.json).code, "string")
  }

  assert.deepEqual((await http.send("POST", "/assistants/search")).json, before.json)
  assert.equal(many((await http.send("POST", "/assistants/agent/versions")).json).length, 1)
})
