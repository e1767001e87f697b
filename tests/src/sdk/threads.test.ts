/** What `client.threads` does that only a server with real graphs shows; compatibility/ calls each method. */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { before, test } from "node:test"
import { fileURLToPath } from "node:url"
import type { Client, ThreadState } from "@langchain/langgraph-sdk"
import { sql } from "@superstep/toolkit/db/sql"
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

const failsWith = (status: number, words: RegExp) => (error: Error & { status?: number }) =>
  error.status === status && words.test(error.message)

test("a thread is made from supersteps, or not at all", async () => {
  const update = (content: string, asNode: string) => ({ updates: [{ values: said(content), asNode }] })
  const supersteps = [update("a", "__input__"), update("a", "__start__"), update("b", "model")]

  const made = await client.threads.create({ graphId: "chat", supersteps })
  const history = await client.threads.getHistory(made.thread_id)
  const reply = await client.runs.wait(made.thread_id, "chat", { input: said("c") })

  const sources = history.map(({ metadata }) => metadata?.source)
  assert.deepEqual(sources, ["update", "update", "input"])
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
  const checkpointId = randomUUID()
  await assert.rejects(client.threads.getState(made.thread_id, checkpointId), failsWith(404, /has no checkpoint/))
  const missing = client.threads.updateState(made.thread_id, { values: {}, checkpointId })
  await assert.rejects(missing, failsWith(404, /has no checkpoint/))
  const left = await server.db.row<{ n: number }>(
    sql`select count(*) as n from checkpoints where thread_id = ${threadId}`,
  )
  assert.equal(left?.n, 0)
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
