import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { Conflict, Forbidden, NotFound } from "@superstep/toolkit/errors/errors"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { type AccessEvent, anyone, type Caller } from "../auth/caller.js"
import { startTestHttp, type TestHttp } from "../testing/test-http.js"
import { migrations, startTestServer, type TestServer } from "../testing/test-server.js"
import { createThread } from "../threads/operations.js"
import { cancelRun, createRun, getRun, joinRun, requireMayStop } from "./operations.js"
import { newRun } from "./schema.js"
import { cancelRuns, deleteRun, listRuns } from "./thread-operations.js"

const body = (fields: object = {}) => newRun.parse({ assistant_id: "agent", input: { n: 1 }, ...fields })

/** Each owns what it makes and sees nothing else, as the documented handler of LangGraph's SDKs has it. */
const owner = (identity: string): Caller => ({
  user: { identity, display_name: identity, is_authenticated: true, permissions: ["runs"], team: "blue" },
  authorize: async (event: AccessEvent, value: { metadata?: object }) => {
    if (event === "assistants:read") return { value, filter: { owner: identity } } as never
    return {
      value: { ...value, metadata: { ...value.metadata, owner: identity } },
      filter: { owner: identity },
    } as never
  },
})

const countOf = async (db: Database) => (await db.row<{ n: number }>(sql`select count(*) as n from runs`))?.n

const threadOf = async (server: TestServer, caller: Caller) =>
  (await createThread(server.db, caller, { threadId: undefined, metadata: {}, ifExists: "raise" })).thread_id

test("who calls reaches the graph, and is neither shown to those who read the run nor believed of a client", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const ann = owner("ann")
  const forged = { langgraph_auth_user: { identity: "root" }, __pregel_resuming: true, color: "red" }

  const run = await createRun(server, {
    caller: ann,
    threadId: undefined,
    body: body({ config: { configurable: forged }, metadata: { n: 1 } }),
    headers: { "x-tenant": "t1" },
  })
  const started = await until(() => server.workers.started[0], { what: "the run to start" })

  const { configurable } = JSON.parse(started.order.config)
  assert.deepEqual(configurable.langgraph_auth_user, ann.user)
  assert.equal(configurable.langgraph_auth_user_id, "ann")
  assert.deepEqual(configurable.langgraph_auth_permissions, ["runs"])
  assert.deepEqual([configurable.user_id, configurable.color, configurable["x-tenant"]], ["ann", "red", "t1"])
  assert.equal("__pregel_resuming" in configurable, false)
  assert.deepEqual(JSON.parse(started.order.context), { color: "red" })
  assert.doesNotMatch(run.kwargs, /langgraph_auth|__pregel/)
  assert.equal(JSON.parse(run.metadata).owner, "ann")
})

test("a run that waits in the queue keeps its caller", async () => {
  await using db = await freshDatabase({ migrations })
  await using front = await startTestServer(db, { slots: 0 })
  const run = await createRun(front, { caller: owner("ann"), threadId: undefined, body: body() })

  await using server = await startTestServer(db)
  const started = await until(() => server.workers.running.get(run.run_id), { what: "the run to start" })

  assert.equal(JSON.parse(started.order.config).configurable.langgraph_auth_user_id, "ann")
})

test("nobody can do anything with the thread and the runs of another", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const [ann, bob] = [owner("ann"), owner("bob")]
  const threadId = await threadOf(server, ann)
  const { run_id: runId } = await createRun(server, { caller: ann, threadId, body: body() })
  const named = { caller: bob, threadId, runId }
  const subscriber = { accepts: () => true, write: () => undefined, end: () => undefined }
  const query = { limit: 10, offset: 0, status: undefined, metadata: undefined, withMetadata: true, withKwargs: true }

  const attempts: [string, () => Promise<unknown>][] = [
    ["create", () => createRun(server, { caller: bob, threadId, body: body() })],
    ["create if missing", () => createRun(server, { caller: bob, threadId, body: body({ if_not_exists: "create" }) })],
    ["reject", () => createRun(server, { caller: bob, threadId, body: body({ multitask_strategy: "reject" }) })],
    ["roll back", () => createRun(server, { caller: bob, threadId, body: body({ multitask_strategy: "rollback" }) })],
    ["get", () => getRun(server, named)],
    ["join", () => joinRun(server, { ...named, subscriber, after: undefined })],
    ["cancel", () => cancelRun(server, { ...named, action: "rollback", wait: false })],
    ["cancel some", () => cancelRuns(server, bob, { threadId, runIds: [runId] }, "rollback")],
    ["cancel all", () => cancelRuns(server, bob, { status: "all" }, "rollback")],
    ["delete", () => deleteRun(server, { ...named, isForced: true })],
    ["list", () => listRuns(server, bob, { threadId, ...query })],
  ]
  for (const [name, attempt] of attempts) await assert.rejects(attempt(), NotFound, name)

  assert.equal(server.workers.running.get(runId)?.isCancelled, false)
  assert.equal(await countOf(db), 1)
  assert.equal((await getRun(server, { ...named, caller: ann })).status, "running")
  assert.equal((await listRuns(server, ann, { threadId, ...query })).length, 1)
})

test("who may only read a run cannot stop it by leaving", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const reader: Caller = {
    ...anyone,
    authorize: async (event, value) => {
      if (event === "threads:update") throw new Forbidden("you may only read")
      return { value, filter: undefined }
    },
  }
  const threadId = await threadOf(server, anyone)
  const { run_id: runId } = await createRun(server, { caller: anyone, threadId, body: body() })
  const named = { caller: reader, threadId, runId, action: "interrupt" } as const

  await assert.rejects(requireMayStop(server, named), Forbidden)
  await assert.rejects(cancelRun(server, { ...named, wait: false }), Forbidden)

  assert.equal(server.workers.running.get(runId)?.isCancelled, false)
})

test("a rule that says no leaves nothing behind", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const refused: Caller = {
    ...anyone,
    authorize: async (event, value) => {
      if (event === "threads:create_run") throw new Forbidden("not you")
      return { value, filter: undefined }
    },
  }

  await assert.rejects(createRun(server, { caller: refused, threadId: undefined, body: body() }), Forbidden)

  assert.equal(await countOf(db), 0)
})

test("the id that a client chose is the run's, and serves once", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const runId = randomUUID()
  const request = { caller: anyone, threadId: undefined, body: body({ run_id: runId }) }

  const run = await createRun(server, request)
  await assert.rejects(createRun(server, request), Conflict)

  assert.equal(run.run_id, runId)
  assert.equal(await countOf(db), 1)
})

const idsOf = (json: unknown) => [json].flat().map((run) => (run as { run_id: string }).run_id)

const startedRun = (http: TestHttp, n = 0) => until(() => http.server.workers.started[n], { what: "the run to start" })

test("a repeated request has one run: its reply, its stream or its result", async (t) => {
  await using db = await freshDatabase({ migrations })
  await using http = await startTestHttp(db)
  const thread = (await http.send("POST", "/threads", {})).json as { thread_id: string }
  const threaded = `/threads/${thread.thread_id}/runs`
  const asked = { assistant_id: "agent", input: {} }

  await t.test("in the background", async () => {
    const key = { "idempotency-key": randomUUID() }

    const first = await http.send("POST", "/runs", asked, key)
    const again = await http.send("POST", "/runs", asked, key)
    const other = await http.send("POST", "/runs", { ...asked, input: 1 }, key)

    assert.deepEqual([again.status, again.text, again.headers.get("idempotent-replayed")], [200, first.text, "true"])
    assert.equal(again.headers.get("content-location"), first.headers.get("content-location"))
    assert.equal(other.status, 422)
    assert.equal(http.server.workers.started.length, 1)
  })

  await t.test("a batch", async () => {
    const key = { "idempotency-key": randomUUID() }

    const first = await http.send("POST", "/runs/batch", [asked, asked], key)
    const again = await http.send("POST", "/runs/batch", [asked, asked], key)

    assert.equal(again.text, first.text)
    assert.equal(http.server.workers.started.length, 3)
  })

  await t.test("as a stream: the second client joins", async () => {
    const key = { "idempotency-key": randomUUID() }
    const streamed = { ...asked, stream_resumable: true }

    const first = await http.stream("POST", `${threaded}/stream`, streamed, key)
    const run = await startedRun(http, 3)
    run.emit("values", { n: 1 })
    await until(() => first.events().length === 2, { what: "the first event" })
    const again = await http.stream("POST", `${threaded}/stream`, streamed, key)
    run.done()
    await Promise.all([first.ended, again.ended])

    assert.equal(again.text(), first.text())
    assert.equal(again.headers.get("content-location"), first.headers.get("content-location"))
    assert.equal(http.server.workers.started.length, 4)
  })

  await t.test("as a result, also after the end", async () => {
    const runId = randomUUID()
    const waiting = http.send("POST", `${threaded}/wait`, { ...asked, run_id: runId })
    const run = await startedRun(http, 4)
    run.done({ values: '{"n":7}' })
    const first = await waiting
    const again = await http.send("POST", `${threaded}/wait`, { ...asked, run_id: runId })
    const other = await http.send("POST", `${threaded}/wait`, { ...asked, input: 1, run_id: runId })

    assert.deepEqual([first.json, again.json], [{ n: 7 }, { n: 7 }])
    assert.equal(run.order.runId, runId)
    assert.equal(other.status, 409)
    assert.equal(http.server.workers.started.length, 5)
  })

  await t.test("and none when nothing of it is left", async () => {
    const key = { "idempotency-key": randomUUID() }
    const waiting = http.send("POST", "/runs/wait", asked, key)
    ;(await startedRun(http, 5)).done()
    await waiting

    const again = await http.send("POST", "/runs/wait", asked, key)

    assert.equal(again.status, 409)
    assert.match(again.text, /run_gone/)
    assert.equal(http.server.workers.started.length, 6)
  })
})

test("headers that the project names reach the graph, and no body can say them", async () => {
  await using db = await freshDatabase({ migrations })
  await using http = await startTestHttp(db, { http: { configurable_headers: { includes: ["x-tenant-*"] } } })
  const configurable = { "x-tenant-id": "forged", "x-other": "kept" }

  const headers = { "x-tenant-id": "t1", "x-secret": "s" }
  await http.send("POST", "/runs", { assistant_id: "agent", config: { configurable } }, headers)
  const run = await startedRun(http)

  const told = JSON.parse(run.order.config).configurable
  assert.deepEqual([told["x-tenant-id"], told["x-other"], told["x-secret"]], ["t1", "kept", undefined])
})

test("a batch is made whole and in order, or not at all", async () => {
  await using db = await freshDatabase({ migrations })
  await using http = await startTestHttp(db)
  const asked = (n: number) => ({ assistant_id: "agent", input: { n }, metadata: { n } })

  const made = await http.send("POST", "/runs/batch", [0, 1, 2].map(asked))
  const count = await countOf(db)
  const refused = await http.send("POST", "/runs/batch", [asked(3), { ...asked(4), assistant_id: "nope" }])
  const invalid = await http.send("POST", "/runs/batch", [asked(3), { input: {} }])
  const empty = await http.send("POST", "/runs/batch", [])
  const twice = await http.send("POST", "/runs/batch", [
    { ...asked(5), run_id: idsOf(made.json)[0]?.replace(/^./, "f") },
    { ...asked(6), run_id: idsOf(made.json)[0] },
  ])

  assert.deepEqual(
    (made.json as { metadata: { n: number } }[]).map(({ metadata }) => metadata.n),
    [0, 1, 2],
  )
  assert.deepEqual([refused.status, invalid.status, empty.status, twice.status], [404, 422, 422, 409])
  assert.equal(count, 3)
  assert.equal(await countOf(db), 3)
})

test("the id of a run whose events are still there is no other run's", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db)
  const runId = randomUUID()
  const chosen = { threadId: undefined, body: body({ run_id: runId, stream_resumable: true }) }
  await createRun(server, { ...chosen, caller: owner("ann") })
  server.workers.running.get(runId)?.emit("values", { secret: 1 })
  server.workers.running.get(runId)?.done()
  await until(async () => (await countOf(db)) === 0, { what: "nothing of the run is left" })
  await until(() => db.row(sql`select from run_events where run_id = ${runId} and event = 'end'`), { what: "its end" })

  await assert.rejects(createRun(server, { ...chosen, caller: owner("bob") }), Conflict)

  assert.equal(await countOf(db), 0)
})
