import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { Conflict, Forbidden, NotFound } from "@superstep/toolkit/errors/errors"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { anyone, type Caller } from "../auth/caller.js"
import { callerWith, ownerOf } from "../testing/callers.js"
import { createThread } from "../testing/creations.js"
import { freshHttp } from "../testing/test-http.js"
import { freshServer, serverDatabase, startTestServer, type TestServer } from "../testing/test-server.js"
import { addRun, newThread, startedRun } from "../testing/thread-streams.js"
import { createRun } from "./creation.js"
import { cancelRun, getRun, joinRun, requireMayStop } from "./operations.js"
import { newRun as runSchema } from "./schema.js"
import { cancelRuns, deleteRun, listRuns } from "./thread-operations.js"

const body = (fields: object = {}) => runSchema.parse({ assistant_id: "agent", input: { n: 1 }, ...fields })

const countOf = async (db: Database) => (await db.row<{ n: number }>(sql`select count(*) as n from runs`))?.n

const threadOf = async (server: TestServer, caller: Caller) => (await createThread(server.db, {}, caller)).thread_id

test("the graph gets the caller, which is hidden from readers of the run and cannot be set by a client", async () => {
  await using server = await freshServer()
  const ann = ownerOf("ann")
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

test("a queued run keeps its caller", async () => {
  await using db = await serverDatabase()
  await using front = await startTestServer(db, { slots: 0 })
  const run = await createRun(front, { caller: ownerOf("ann"), threadId: undefined, body: body() })

  await using server = await startTestServer(db)
  const started = await until(() => server.workers.running.get(run.run_id), { what: "the run to start" })

  assert.equal(JSON.parse(started.order.config).configurable.langgraph_auth_user_id, "ann")
})

test("a user cannot access another user's thread and runs", async () => {
  await using server = await freshServer()
  const [ann, bob] = [ownerOf("ann"), ownerOf("bob")]
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
  assert.equal(await countOf(server.db), 1)
  assert.equal((await getRun(server, { ...named, caller: ann })).status, "running")
  assert.equal((await listRuns(server, ann, { threadId, ...query })).length, 1)
})

test("a user who may only read a run cannot cancel it by disconnecting, and a request that a rule rejects changes nothing", async () => {
  await using server = await freshServer()
  const unless = (forbidden: string) =>
    callerWith(undefined, (value, event) => {
      if (event === forbidden) throw new Forbidden("not you")
      return value
    })
  const threadId = await threadOf(server, anyone)
  const { run_id: runId } = await createRun(server, { caller: anyone, threadId, body: body() })
  const named = { caller: unless("threads:update"), threadId, runId, action: "interrupt" } as const
  const refused = { caller: unless("threads:create_run"), threadId: undefined, body: body() }

  await assert.rejects(requireMayStop(server, named), Forbidden)
  await assert.rejects(cancelRun(server, { ...named, wait: false }), Forbidden)
  await assert.rejects(createRun(server, refused), Forbidden)

  assert.equal(server.workers.running.get(runId)?.isCancelled, false)
  assert.equal(await countOf(server.db), 1)
})
const idsOf = (json: unknown) => fieldsOf(json as { run_id: string }[], "run_id")

test("a repeated request creates one run and gets its response, its stream or its result", async (t) => {
  await using http = await freshHttp()
  const threaded = `/threads/${await newThread(http)}/runs`
  const asked = { assistant_id: "agent", input: {} }

  await t.test("background run", async () => {
    const key = { "idempotency-key": randomUUID() }

    const first = await http.send("POST", "/runs", asked, key)
    const again = await http.send("POST", "/runs", asked, key)
    const other = await http.send("POST", "/runs", { ...asked, input: 1 }, key)

    assert.deepEqual([again.status, again.text, again.headers.get("idempotent-replayed")], [200, first.text, "true"])
    assert.equal(again.headers.get("content-location"), first.headers.get("content-location"))
    assert.equal(other.status, 422)
    assert.equal(http.server.workers.started.length, 1)
  })

  await t.test("batch", async () => {
    const key = { "idempotency-key": randomUUID() }

    const first = await http.send("POST", "/runs/batch", [asked, asked], key)
    const again = await http.send("POST", "/runs/batch", [asked, asked], key)

    assert.equal(again.text, first.text)
    assert.equal(http.server.workers.started.length, 3)
  })

  await t.test("stream: the second client joins", async () => {
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

  await t.test("result, also after the run's end", async () => {
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

  await t.test("stream without a log: the second client is notified that it missed the beginning", async () => {
    const key = { "idempotency-key": randomUUID() }

    const first = await http.stream("POST", `${threaded}/stream`, asked, key)
    const run = await startedRun(http, 5)
    run.emit("values", { n: 1 })
    await until(() => first.events().length === 2, { what: "the first event" })
    const again = await http.stream("POST", `${threaded}/stream`, asked, key)
    run.emit("values", { n: 2 })
    run.done()
    await Promise.all([first.ended, again.ended])
    const afterwards = await http.stream("POST", `${threaded}/stream`, asked, key)
    await afterwards.ended

    const missed = ["metadata", { run_id: run.order.runId, attempt: 1, missed: true }]
    const end = ["end", { run_id: run.order.runId, status: "success" }]
    const told = (stream: typeof again) => stream.events().map(({ event, data }) => [event, data])
    assert.deepEqual(told(again), [missed, ["values", { n: 2 }], end])
    assert.deepEqual(told(afterwards), [missed, end])
  })

  await t.test("a deleted stateless run is not created again", async () => {
    const key = { "idempotency-key": randomUUID() }
    const waiting = http.send("POST", "/runs/wait", asked, key)
    ;(await startedRun(http, 6)).done()
    await waiting

    const again = await http.send("POST", "/runs/wait", asked, key)

    assert.deepEqual([again.status, (again.json as { code: string }).code], [409, "run_gone"])
    assert.equal(http.server.workers.started.length, 7)
  })

  await t.test("a rolled back run is not created again", async () => {
    const [key, streamKey] = [{ "idempotency-key": randomUUID() }, { "idempotency-key": randomUUID() }]
    await http.send("POST", threaded, asked)
    const active = await startedRun(http, 7)
    const first = await http.send("POST", threaded, asked, key)
    const streamed = await http.stream("POST", `${threaded}/stream`, asked, streamKey)
    await http.send("POST", threaded, { ...asked, multitask_strategy: "rollback" })
    await streamed.ended
    const runIds = async () => fieldsOf((await http.send("GET", threaded)).json as { run_id: string }[], "run_id")
    const wasRemoved = async () => !(await runIds()).includes(active.order.runId)
    await until(wasRemoved, { what: "the active run is rolled back too" })
    const before = await runIds()

    const again = await http.send("POST", threaded, asked, key)
    const streamedAgain = await http.send("POST", `${threaded}/stream`, asked, streamKey)

    assert.deepEqual([again.status, again.text, again.headers.get("idempotent-replayed")], [200, first.text, "true"])
    assert.equal(streamedAgain.status, 409)
    assert.match(streamedAgain.text, /was removed, by a rollback for instance.*run_gone/)
    assert.deepEqual(await runIds(), before)
  })
})

test("the graph gets the headers that the project selects, and a body cannot set them", async () => {
  await using http = await freshHttp({ http: { configurable_headers: { includes: ["x-tenant-*"] } } })
  const configurable = { "x-tenant-id": "forged", "x-other": "kept" }

  const headers = { "x-tenant-id": "t1", "x-secret": "s" }
  await http.send("POST", "/runs", { assistant_id: "agent", config: { configurable } }, headers)
  const run = await startedRun(http)

  const told = JSON.parse(run.order.config).configurable
  assert.deepEqual([told["x-tenant-id"], told["x-other"], told["x-secret"]], ["t1", "kept", undefined])
})

test("a batch is created completely and in order, or not at all; the id of a run is used once", async () => {
  await using http = await freshHttp()
  const asked = (n: number) => ({ assistant_id: "agent", input: { n }, metadata: { n } })

  const made = await http.send("POST", "/runs/batch", [0, 1, 2].map(asked))
  const count = await countOf(http.db)
  const refused = await http.send("POST", "/runs/batch", [asked(3), { ...asked(4), assistant_id: "nope" }])
  const invalid = await http.send("POST", "/runs/batch", [asked(3), { input: {} }])
  const empty = await http.send("POST", "/runs/batch", [])
  const [taken = ""] = idsOf(made.json)
  const twice = [
    { ...asked(5), run_id: taken.replace(/^./, "f") },
    { ...asked(6), run_id: taken },
  ]
  const used = [await http.send("POST", "/runs/batch", twice), await http.send("POST", "/runs", twice[1])]

  const order = (made.json as { metadata: { n: number } }[]).map(({ metadata }) => metadata.n)
  assert.deepEqual(order, [0, 1, 2])
  assert.deepEqual(fieldsOf([refused, invalid, empty, ...used], "status"), [404, 422, 422, 409, 409])
  assert.equal(count, 3)
  assert.equal(await countOf(http.db), 3)
})

test("the id of a run whose events still exist cannot be used for another run", async () => {
  await using server = await freshServer()
  const runId = randomUUID()
  const chosen = { threadId: undefined, body: body({ run_id: runId, stream_resumable: true }) }
  await createRun(server, { ...chosen, caller: ownerOf("ann") })
  server.workers.running.get(runId)?.emit("values", { secret: 1 })
  server.workers.running.get(runId)?.done()
  await until(async () => (await countOf(server.db)) === 0, { what: "the run is deleted" })
  const end = sql`select from run_events where run_id = ${runId} and event = 'end'`
  await until(() => server.db.row(end), { what: "its end" })

  await assert.rejects(createRun(server, { ...chosen, caller: ownerOf("bob") }), Conflict)

  assert.equal(await countOf(server.db), 0)
})

test("the number of waiting runs is limited per thread, also for concurrent requests", async () => {
  await using http = await freshHttp({ maxWaitingRuns: 2 })
  const [full, other, rushed] = [await newThread(http), await newThread(http), await newThread(http)]
  const create = (threadId: string, multitask_strategy?: string) =>
    http.send("POST", `/threads/${threadId}/runs`, { assistant_id: "agent", input: {}, multitask_strategy })

  const statuses = []
  for (let n = 0; n < 4; n++) statuses.push(await create(full))
  await addRun(http, other)
  const listed = await http.send("GET", `/threads/${full}/runs`)
  const interrupting = await create(full, "interrupt")
  const atOnce = await Promise.all(Array.from({ length: 12 }, () => create(rushed)))

  assert.deepEqual(fieldsOf(statuses, "status"), [200, 200, 200, 429])
  assert.equal(statuses[3]?.headers.get("retry-after"), "5")
  assert.match((statuses[3]?.json as { detail: string }).detail, /2 runs wait on this thread/)
  assert.equal((listed.json as unknown[]).length, 3)
  assert.equal(interrupting.status, 200)
  assert.deepEqual(fieldsOf(atOnce, "status").sort(), [200, 200, 200, ...Array(9).fill(429)])
})
