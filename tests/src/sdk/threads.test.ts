/** Every method of `client.threads` but the streams, and what RemoteGraph asks, against a real server with real graphs. */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { RemoteGraph } from "@langchain/langgraph/remote"
import type { Client, ThreadState } from "@langchain/langgraph-sdk"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { serverForAll } from "../testing/agent-servers.js"

// biome-ignore lint/suspicious/noExplicitAny: what a state holds is what each test asserts
type Values = any

const config = fileURLToPath(new URL("../../graphs/quick.json", import.meta.url))

const env = { SUPERSTEP_CONFIG: config }
const server = serverForAll({ env })
let client: Client
before(() => {
  client = server.client
})

const text = (state: ThreadState<Values>) => state.values.messages.map(({ content }: Values) => content).join(" ")
const said = (content: string) => ({ messages: [{ role: "user", content }] })

/** A thread of the graph that asks, stopped at its question. */
async function asked(): Promise<string> {
  const { thread_id } = await client.threads.create()
  await client.runs.wait(thread_id, "hitl", { input: { x: 1 } })
  return thread_id
}

/** A thread on which the counting graph has run to its end. */
async function counted(): Promise<string> {
  const { thread_id } = await client.threads.create()
  await client.runs.wait(thread_id, "slow", { input: { n: 2 }, config: { configurable: { tick_ms: 0 } } })
  return thread_id
}

const failsWith = (status: number, words: RegExp) => (error: Error & { status?: number }) =>
  error.status === status && words.test(error.message)

test("a thread is made, read, changed and deleted", async () => {
  const threadId = randomUUID()
  const made = await client.threads.create({ threadId, metadata: { a: 1 }, graphId: "chat" })
  assert.deepEqual([made.thread_id, made.status, made.values], [threadId, "idle", null])
  assert.deepEqual(made.metadata, { a: 1, graph_id: "chat" })
  await assert.rejects(client.threads.create({ threadId }), failsWith(409, /already exists/))
  const same = await client.threads.create({ threadId, ifExists: "do_nothing", metadata: { b: 1 } })
  assert.deepEqual(same, made)

  const changed = await client.threads.update(threadId, { metadata: { b: 2 } })
  const nothing: unknown = await client.threads.update(threadId, { metadata: { c: 3 }, returnMinimal: true })
  assert.deepEqual(changed.metadata, { a: 1, b: 2, graph_id: "chat" })
  assert.equal(nothing, undefined)
  assert.deepEqual((await client.threads.get(threadId)).metadata, { a: 1, b: 2, c: 3, graph_id: "chat" })

  await client.threads.delete(threadId)
  await assert.rejects(client.threads.get(threadId), failsWith(404, /not found/))
})

test("a thread is made from supersteps, or not at all", async () => {
  const update = (content: string, asNode: string) => ({ updates: [{ values: said(content), asNode }] })
  const supersteps = [update("a", "__input__"), update("a", "__start__"), update("b", "model")]

  const made = await client.threads.create({ graphId: "chat", supersteps })
  const history = await client.threads.getHistory(made.thread_id)
  const reply = await client.runs.wait(made.thread_id, "chat", { input: said("c") })

  assert.deepEqual(
    history.map(({ metadata }) => metadata?.source),
    ["update", "update", "input"],
  )
  assert.match(text(await client.threads.getState(made.thread_id)), /^\S+ .*c Hi!$/)
  assert.ok((made.values as Values).messages.length > 0)
  assert.equal((reply as Values).messages.at(-1).content, "Hi!")
  const threadId = randomUUID()
  const refused = client.threads.create({
    threadId,
    graphId: "chat",
    supersteps: [...supersteps, update("c", "nobody")],
  })
  await assert.rejects(refused, failsWith(422, /"nobody\\?" does not exist/))
  await assert.rejects(client.threads.create({ threadId, supersteps }), failsWith(400, /has no graph ID/))
  await assert.rejects(client.threads.get(threadId), failsWith(404, /not found/))
  const left = await server.db.row<{ n: number }>(
    sql`select count(*) as n from checkpoints where thread_id = ${threadId}`,
  )
  assert.equal(left?.n, 0)
})

test("a state is read in three ways, with the fields that were asked for", async () => {
  const threadId = await counted()
  const history = await client.threads.getHistory<Values>(threadId)
  const earlier = history.find(({ values }) => values.n === 3)
  assert.ok(earlier?.checkpoint.checkpoint_id)

  const newest = await client.threads.getState<Values>(threadId)
  const byId = await client.threads.getState<Values>(threadId, earlier.checkpoint.checkpoint_id)
  const byReference = await client.threads.getState<Values>(threadId, earlier.checkpoint, { subgraphs: true })

  assert.deepEqual([newest.values, newest.next], [{ n: 5 }, []])
  assert.deepEqual([byId.values, byReference.values, byId.next], [{ n: 3 }, { n: 3 }, ["tick"]])
  assert.deepEqual(byId.checkpoint, earlier.checkpoint)
  const selected = await fetch(`${server.url}/threads/${threadId}/state?select=values.n,next`, server)
  assert.deepEqual(await selected.json(), { values: { n: 5 }, next: [] })
  await assert.rejects(client.threads.getState(threadId, randomUUID()), failsWith(404, /has no checkpoint/))
  await assert.rejects(client.threads.getState(threadId, "1"), failsWith(422, /expected a UUID/))
  const { thread_id } = await client.threads.create()
  const empty = await client.threads.getState(thread_id)
  assert.deepEqual([empty.values, empty.next, empty.checkpoint], [{}, [], null])
})

test("a subgraph has a state and a history of its own", async () => {
  const { thread_id } = await client.threads.create()
  await client.runs.wait(thread_id, "nested", { input: { log: ["a"] } })
  const row = await server.db.row<{ ns: string }>(sql`
    select checkpoint_ns as ns from checkpoints where thread_id = ${thread_id} and checkpoint_ns <> '' limit 1`)
  const checkpoint = { thread_id, checkpoint_ns: row?.ns, checkpoint_id: undefined, checkpoint_map: undefined }

  const state = await client.threads.getState<Values>(thread_id, checkpoint as never)
  const history = await client.threads.getHistory<Values>(thread_id, { checkpoint: checkpoint as never })
  const none = await client.threads.getHistory(thread_id, { checkpoint: { checkpoint_ns: "tools:none" } })

  assert.deepEqual(state.values.log, ["a", "first", "inner"])
  assert.ok(history.length > 1)
  assert.ok(history.every((each) => each.checkpoint.checkpoint_ns === row?.ns))
  assert.deepEqual(none, [])
})

test("history is filtered by metadata, begins before a checkpoint and has a limit", async () => {
  const threadId = await counted()
  const all = await client.threads.getHistory<Values>(threadId)

  const before = await client.threads.getHistory<Values>(threadId, {
    before: { configurable: all[1]?.checkpoint } as never,
  })
  const input = await client.threads.getHistory<Values>(threadId, { metadata: { source: "input" } as never })
  const two = await client.threads.getHistory<Values>(threadId, { limit: 2 })

  assert.deepEqual(
    all.map(({ values }) => values.n),
    [5, 4, 3, 2, undefined],
  )
  assert.deepEqual([before.length, input.length, two.length], [3, 1, 2])
})

test("an update changes the state as a node would, and the thread with it", async () => {
  const threadId = await asked()
  const before = await client.threads.getState<Values>(threadId)

  const reply: Values = await client.threads.updateState(threadId, { values: { y: "told" }, asNode: "ask" })

  const state = await client.threads.getState<Values>(threadId)
  assert.deepEqual([state.values, state.next], [{ x: 1, y: "told" }, ["after"]])
  assert.equal(reply.checkpoint.checkpoint_id, state.checkpoint.checkpoint_id)
  assert.deepEqual(state.parent_checkpoint?.checkpoint_id, before.checkpoint.checkpoint_id)
  assert.deepEqual([state.metadata?.source, state.metadata?.step], ["update", 1])
  const thread = await client.threads.get(threadId)
  assert.deepEqual([thread.values, thread.interrupts, thread.status], [{ x: 1, y: "told" }, {}, "interrupted"])
  const end = await client.runs.wait(threadId, "hitl", { input: null })
  assert.deepEqual(end, { x: 5, y: "told" })
})

test("an update copies, skips a node, forks, and is refused when the graph does not know how", async () => {
  const threadId = await counted()
  const all = await client.threads.getHistory<Values>(threadId)
  const earlier = all.find(({ values }) => values.n === 3)?.checkpoint
  assert.ok(earlier?.checkpoint_id)

  const copy: Values = await client.threads.updateState(threadId, {
    values: null,
    asNode: "__copy__",
    checkpointId: earlier.checkpoint_id,
  })
  const copied = await client.threads.getState<Values>(threadId)
  await client.threads.updateState(threadId, { values: { n: 9 }, checkpoint: earlier })
  const forked = await client.threads.getState<Values>(threadId)
  await client.threads.updateState(threadId, { values: null, asNode: "__end__" })
  const ended = await client.threads.getState<Values>(threadId)

  assert.equal(copied.checkpoint.checkpoint_id, copy.checkpoint.checkpoint_id)
  assert.deepEqual([copied.values, copied.metadata?.source, copied.next], [{ n: 3 }, "fork", ["tick"]])
  assert.deepEqual([forked.values, forked.parent_checkpoint?.checkpoint_id], [{ n: 9 }, earlier.checkpoint_id])
  assert.deepEqual([ended.values, ended.next], [{ n: 9 }, []])
  const refused = client.threads.updateState(threadId, { values: {}, asNode: "nobody" })
  await assert.rejects(refused, failsWith(422, /does not exist/))
  const missing = client.threads.updateState(threadId, { values: {}, checkpointId: randomUUID() })
  await assert.rejects(missing, failsWith(404, /has no checkpoint/))
  const { thread_id } = await client.threads.create()
  await assert.rejects(client.threads.updateState(thread_id, { values: {} }), failsWith(400, /has no graph ID/))
  await assert.rejects(client.threads.updateState(randomUUID(), { values: {} }), failsWith(404, /not found/))
})

test("texts that Postgres cannot hold everywhere, and graphs that nobody knows, are no failure of the server", async () => {
  const odd = "\0 \ud800 \ud83d\ude00"
  const { thread_id } = await client.threads.create({ graphId: "hitl", metadata: { odd } })
  const { thread_id: ofNobody } = await client.threads.create({ graphId: odd })

  await client.threads.updateState(thread_id, { values: { x: 1, y: odd }, asNode: "after" })

  const thread = await client.threads.get(thread_id)
  assert.deepEqual([(thread.values as Values).y, thread.metadata?.odd], [odd, odd])
  assert.equal((await client.threads.getState<Values>(thread_id)).values.y, odd)
  assert.deepEqual(await client.threads.getHistory(thread_id, { metadata: { odd } as never }), [])
  const refused = client.threads.updateState(thread_id, { values: {}, asNode: odd })
  await assert.rejects(refused, failsWith(422, /does not exist/))
  assert.deepEqual((await client.threads.getState(ofNobody)).values, {})
  await assert.rejects(client.threads.updateState(ofNobody, { values: {} }), failsWith(409, /has no graph/))
})

test("a subgraph that waits gets an update of its own", async () => {
  const { thread_id } = await client.threads.create()
  await client.runs.wait(thread_id, "deep", { input: { x: 1 } })
  const open = await client.threads.getState<Values>(thread_id, undefined, { subgraphs: true })
  const inner = open.tasks[0]?.state?.checkpoint
  assert.ok(inner?.checkpoint_ns)

  const update = { values: { y: "told" }, asNode: "ask", checkpoint: inner }
  const reply: Values = await client.threads.updateState(thread_id, update)
  const state = await client.threads.getState<Values>(thread_id, { ...inner, checkpoint_id: null } as never)
  const end: Values = await client.runs.wait(thread_id, "deep", { input: null })

  assert.equal(reply.checkpoint.checkpoint_ns, inner.checkpoint_ns)
  assert.deepEqual([state.values, state.next], [{ x: 1, y: "told" }, ["after"]])
  assert.deepEqual(end, { x: 5, y: "told" })
})

test("a thread that is busy takes no update; deleting it stops its run", async () => {
  const { thread_id } = await client.threads.create()
  const run = await client.runs.create(thread_id, "slow", {
    input: { n: 0 },
    config: { configurable: { tick_ms: 60_000 } },
  })
  await until(async () => (await client.runs.get(thread_id, run.run_id)).status === "running", { what: "the run runs" })
  const joined = (async () => {
    const events: string[] = []
    for await (const { event } of client.runs.joinStream(thread_id, run.run_id)) events.push(event)
    return events
  })()

  await until(async () => (await server.status()).open_streams > 0, { what: "the run is joined" })

  await assert.rejects(client.threads.updateState(thread_id, { values: { n: 1 } }), failsWith(409, /busy/))
  await client.threads.delete(thread_id)

  await joined
  await until(async () => (await server.status()).running_runs === 0, { what: "its worker stops" })
  const left = await server.db.row<{ n: number }>(sql`
    select (select count(*) from runs where thread_id = ${thread_id}::uuid)
      + (select count(*) from checkpoints where thread_id = ${thread_id}::text) as n`)
  assert.equal(left?.n, 0)
})

test("a copy goes on where its original stands, and neither changes the other", async () => {
  const threadId = await asked()

  const copy = await client.threads.copy(threadId)
  const end = await client.runs.wait(copy.thread_id, "hitl", { command: { resume: "yes" } })

  assert.deepEqual(end, { x: 4, y: "yes" })
  assert.deepEqual([copy.status, copy.values], ["interrupted", { x: 1 }])
  assert.deepEqual((await client.threads.getState<Values>(threadId)).next, ["ask"])
  assert.deepEqual((await client.threads.getState(copy.thread_id)).metadata?.thread_id, copy.thread_id)
  await assert.rejects(client.threads.copy(randomUUID()), failsWith(409, /not found/))
})

test("what pruning leaves of a thread is enough to answer its question", async () => {
  const threadId = await asked()

  const { pruned_count } = await client.threads.prune([threadId], { strategy: "keep_latest" })

  assert.equal(pruned_count, 1)
  assert.equal((await client.threads.getHistory(threadId)).length, 1)
  assert.deepEqual(await client.runs.wait(threadId, "hitl", { command: { resume: "yes" } }), { x: 4, y: "yes" })
})

test("a thread has a time to live that can be told and changed", async () => {
  const { thread_id } = await client.threads.create({ ttl: 60 })
  const told: Values = await client.threads.get(thread_id, { include: ["ttl"] })
  await client.threads.update(thread_id, { ttl: { ttl: 5, strategy: "keep_latest" as "delete" } })
  const changed: Values = await client.threads.get(thread_id, { include: ["ttl"] })
  const plain: Values = await client.threads.get(thread_id)

  assert.deepEqual([told.ttl.strategy, told.ttl.ttl_minutes], ["delete", 60])
  assert.deepEqual([changed.ttl.strategy, changed.ttl.ttl_minutes], ["keep_latest", 5])
  assert.ok(Date.parse(changed.ttl.expires_at) < Date.parse(told.ttl.expires_at))
  assert.equal("ttl" in plain, false)
})

test("RemoteGraph reads and changes a thread's state", async () => {
  const remote = new RemoteGraph({ graphId: "slow", client: client as never })
  const thread = { configurable: { thread_id: await counted() } }

  const state = await remote.getState(thread)
  const history: Values[] = []
  for await (const each of remote.getStateHistory(thread)) history.push(each)
  const older: Values[] = []
  for await (const each of remote.getStateHistory(thread, { before: history[1].config, limit: 2 })) older.push(each)
  const updated = await remote.updateState(history[1].config, { n: 7 }, "tick")
  const after = await remote.getState(updated)

  assert.deepEqual([state.values, history.length], [{ n: 5 }, 5])
  assert.deepEqual(
    older.map(({ values }) => values.n),
    [3, 2],
  )
  assert.deepEqual(
    [after.values, after.parentConfig?.configurable?.checkpoint_id],
    [{ n: 7 }, history[1].config.configurable.checkpoint_id],
  )
})
