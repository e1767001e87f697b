/** Every method of `client.runs`, against a real server with real graphs. */

import assert from "node:assert/strict"
import { before, test } from "node:test"
import { fileURLToPath } from "node:url"
import type { Client } from "@langchain/langgraph-sdk"
import { StreamController } from "@langchain/langgraph-sdk/stream"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { serverForAll } from "../testing/agent-servers.js"

// biome-ignore lint/suspicious/noExplicitAny: what a state or an event holds is what each test asserts
type Any = any

const config = fileURLToPath(new URL("../../graphs/quick.json", import.meta.url))
const env = { SUPERSTEP_CONFIG: config }

const server = serverForAll({ env })
let client: Client
before(() => {
  client = server.client
})

const quick = { input: { n: 3 }, config: { configurable: { tick_ms: 0 } } }
// It ends when it is told to, and not within a test.
const endless = { input: { n: 0 }, config: { configurable: { tick_ms: 60_000 } } }

const newThread = async () => (await client.threads.create()).thread_id

const collect = async (stream: AsyncIterable<unknown>): Promise<Any[]> => {
  const events: Any[] = []
  for await (const event of stream) events.push(event)
  return events
}

const failsWith = (status: number, words: RegExp) => (error: Error & { status?: number }) =>
  error.status === status && words.test(error.message)

const untilRunning = (threadId: string, runId: string) =>
  until(async () => (await client.runs.get(threadId, runId)).status === "running", { what: "the run executes" })

test("create, get, join, list and delete", async () => {
  const threadId = await newThread()
  const told: Any[] = []
  const run = await client.runs.create(threadId, "slow", {
    ...quick,
    metadata: { n: 1 },
    config: { ...quick.config, tags: ["t"], recursion_limit: 12 },
    feedbackKeys: ["score"],
    onRunCreated: (ids) => told.push(ids),
  })
  const values = await client.runs.join(threadId, run.run_id)
  await client.runs.wait(threadId, "slow", { ...quick, metadata: { n: 2 } })

  assert.deepEqual(told, [{ run_id: run.run_id, thread_id: threadId }])
  assert.equal(run.status, "pending")
  assert.deepEqual(values, { n: 5 })
  const read: Any = await client.runs.get(threadId, run.run_id)
  assert.deepEqual([read.status, read.metadata.n, read.metadata.graph_id], ["success", 1, "slow"])
  assert.deepEqual([read.kwargs.config.recursion_limit, read.kwargs.config.tags], [12, ["t"]])
  const ns = (runs: Any[]) => runs.map(({ metadata }) => metadata.n)
  assert.deepEqual(ns(await client.runs.list(threadId)), [2, 1])
  assert.deepEqual(ns(await client.runs.list(threadId, { limit: 1, offset: 1 })), [1])
  assert.deepEqual(ns(await client.runs.list(threadId, { status: "error" })), [])
  assert.deepEqual(await client.runs.list(threadId, { select: ["run_id", "status"], offset: 1 }), [
    { run_id: run.run_id, status: "success" },
  ])

  await client.runs.delete(threadId, run.run_id)

  await assert.rejects(client.runs.get(threadId, run.run_id), failsWith(404, /not found/))
  await assert.rejects(client.runs.delete(threadId, run.run_id), failsWith(404, /not found/))
  const left = await server.db.row<{ n: number }>(sql`
    select count(*) as n from checkpoints where metadata ->> 'run_id' = ${run.run_id}`)
  assert.equal(left?.n, 0)
  assert.equal((await client.runs.list(threadId)).length, 1)
})

test("a thread whose last run is deleted shows what it was before", async () => {
  const threadId = await newThread()
  await client.runs.wait(threadId, "hitl", { input: { x: 1 } })
  const before = await client.threads.get(threadId)
  await client.runs.wait(threadId, "hitl", { command: { resume: "yes" } })
  const [last, first] = await client.runs.list(threadId)

  await client.runs.delete(threadId, last?.run_id ?? "")
  const { values, status, interrupts } = await client.threads.get(threadId)
  await client.runs.delete(threadId, first?.run_id ?? "")
  const empty = await client.threads.get(threadId)

  assert.deepEqual([values, status, interrupts], [before.values, "interrupted", before.interrupts])
  assert.deepEqual([empty.values, empty.status, empty.interrupts], [null, "idle", {}])
})

test("stream on a thread and without one, and wait", async () => {
  const threadId = await newThread()
  const told: Any[] = []
  const threaded = await collect(
    client.runs.stream(threadId, "slow", { ...quick, onRunCreated: (ids) => told.push(ids) }),
  )
  const stateless = await collect(client.runs.stream(null, "slow", { ...quick, streamMode: ["updates", "custom"] }))
  const result = await client.runs.wait(null, "slow", quick)
  // The SDK's type has other words than the API.
  const kept: Any = await client.runs.create(null, "slow", { ...quick, onCompletion: "keep" as Any })
  await client.runs.join(kept.thread_id, kept.run_id)

  assert.deepEqual(fieldsOf(threaded, "event"), ["metadata", "values", "values", "values", "end"])
  assert.equal(told[0].run_id, threaded[0].data.run_id)
  assert.deepEqual(stateless.filter(({ event }) => event === "updates").at(-1).data, { tick: { n: 5 } })
  assert.deepEqual(result, { n: 5 })
  assert.deepEqual((await client.threads.get(kept.thread_id)).values, { n: 5 })
  await assert.rejects(client.runs.wait(null, "error", { input: { x: 1 } }), /TypeError: node exploded/)
  const interrupted: Any = await client.runs.wait(null, "hitl", { input: { x: 1 } })
  assert.deepEqual([interrupted.x, interrupted.__interrupt__[0].value], [1, { question: "continue?" }])
})

test("with interrupt, each message is in the thread, or its run says that its input was not saved", async () => {
  for (let round = 0; round < 5; round++) {
    const threadId = await newThread()
    const runs = []
    for (const n of [100, 200, 300])
      runs.push(
        await client.runs.create(threadId, "slow", { ...endless, input: { n }, multitaskStrategy: "interrupt" }),
      )
    const last = runs.at(-1)?.run_id ?? ""
    await untilRunning(threadId, last)
    await client.runs.cancel(threadId, last, true)

    const history = await client.threads.getHistory(threadId, { limit: 100 })
    const inputs = history
      .filter(({ metadata }) => metadata?.source === "input")
      .map(({ metadata }) => Object(metadata).run_id)
    for (const { run_id } of runs) {
      const { status, attempt, input_saved } = Object(await client.runs.get(threadId, run_id))
      assert.equal(status, "interrupted")
      assert.equal(input_saved, inputs.includes(run_id))
      // A run that executes has saved it.
      assert.equal(input_saved, attempt === 1)
    }
  }
})

test("a run that is cancelled while its graph is made has its input in the thread, for every durability", async () => {
  for (const durability of ["sync", "async", "exit"] as const) {
    const threadId = await newThread()
    const input = { steps: ["mine"] }
    const run = { input, durability, config: { configurable: { making_ms: 300 } } }
    const { run_id } = await client.runs.create(threadId, "named", run)
    await client.runs.cancel(threadId, run_id, true)

    const { status, attempt, input_saved } = Object(await client.runs.get(threadId, run_id))
    assert.deepEqual(
      { status, attempt, input_saved },
      { status: "interrupted", attempt: 1, input_saved: true },
      durability,
    )
    // A checkpoint of the input alone is not enough: the next input would replace it.
    const history = await client.threads.getHistory<Any>(threadId)
    const ofSteps = history.filter(({ metadata }) => metadata?.source === "loop")
    assert.equal(ofSteps[0]?.values.steps[0], "mine", durability)
  }
})

test("a page that opens while a run starts, or waits to start, shows that it runs", async () => {
  const threadId = await newThread()
  await client.runs.wait(threadId, "slow", quick)
  const { run_id } = await client.runs.create(threadId, "slow", { ...endless, durability: "exit" })
  const controller = new StreamController({ client, threadId, assistantId: "slow", transport: "sse" })

  const { next, tasks } = await client.threads.getState(threadId)
  await until(() => controller.rootStore.getSnapshot().isLoading, { what: "the page shows the run" })
  const release = controller.activate()
  const isFollowed = () =>
    server.db.row(sql`select from watched_threads where thread_id = ${threadId} and protocol_until > now()`)
  await until(isFollowed, { what: "the page follows the thread" })
  await client.runs.cancel(threadId, run_id, true)
  await until(() => !controller.rootStore.getSnapshot().isLoading, { what: "the page shows the end" })
  release()
  const other = await newThread()
  const delayed = await client.runs.create(other, "slow", { ...quick, afterSeconds: 600 })
  const waiting = await client.threads.getState(other)
  await client.runs.cancel(other, delayed.run_id, true, "rollback")
  const idle = await client.threads.getState(other)

  assert.deepEqual([next, tasks.map(({ id, name }) => [id, name])], [["__start__"], [[run_id, "__start__"]]])
  assert.deepEqual([waiting.next, idle.next], [["__start__"], []])
})

test("cancelMany stops some of a thread, and all of a status", async () => {
  const [threadId, other] = [await newThread(), await newThread()]
  const running = await client.runs.create(threadId, "slow", endless)
  const waiting = await client.runs.create(threadId, "slow", endless)
  const elsewhere = await client.runs.create(other, "slow", { ...quick, afterSeconds: 3600 })
  const statuses = async () =>
    Promise.all(
      [
        [threadId, running],
        [threadId, waiting],
        [other, elsewhere],
      ].map(async ([id, run]: Any) => (await client.runs.get(id, run.run_id)).status),
    )
  await untilRunning(threadId, running.run_id)

  await client.runs.cancelMany({ threadId, runIds: [waiting.run_id, running.run_id] })
  await client.runs.join(threadId, running.run_id)
  assert.deepEqual(await statuses(), ["interrupted", "interrupted", "pending"])
  await client.runs.cancelMany({ status: "pending" })
  assert.deepEqual(await statuses(), ["interrupted", "interrupted", "interrupted"])

  await assert.rejects(client.runs.cancelMany({ status: "all" }), failsWith(404, /no run matches/))
  await assert.rejects(client.runs.cancelMany({ threadId: other, runIds: [running.run_id] }), failsWith(404, /no run/))
  await assert.rejects(client.runs.cancelMany({}), failsWith(422, /expected either/))
})

test("false, 0 and the empty text are answers, and a command may say nothing else", async () => {
  for (const resume of [false, 0, ""]) {
    const threadId = await newThread()
    await client.runs.wait(threadId, "hitl", { input: { x: 1 } })
    const command: Any = { resume, update: null, goto: [], lg_name: "Command", graph: null }
    const values = await client.runs.wait(threadId, "hitl", { command })

    assert.deepEqual(values, { x: 1 + String(resume).length, y: String(resume) })
  }
})

test("what a request says reaches the graph's config, and what a client must not say does not", async () => {
  const values: Any = await client.runs.wait(null, "echo", {
    input: { seen: null },
    config: { configurable: { user_id: "ann", langgraph_auth_user: { identity: "root" }, __secret: 1 } },
    metadata: { n: 1 },
    _langsmithTracer: { projectName: "p", exampleId: "e" },
  } as Any)

  const { configurable, metadata, recursionLimit } = values.seen
  assert.deepEqual(
    [configurable.user_id, configurable.langsmith_project, configurable.langsmith_example_id, configurable.graph_id],
    ["ann", "p", "e", "echo"],
  )
  assert.equal(configurable.langgraph_auth_user, undefined)
  assert.equal(configurable.__secret, undefined)
  assert.deepEqual([metadata.n, recursionLimit], [1, 31])
})
