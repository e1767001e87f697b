/** What `client.runs` does that only a server with real graphs shows; compatibility/ calls each method. */

import assert from "node:assert/strict"
import { before, test } from "node:test"
import { fileURLToPath } from "node:url"
import type { Client } from "@langchain/langgraph-sdk"
import { StreamController } from "@langchain/langgraph-sdk/stream"
import { sql } from "@superstep/toolkit/db/sql"
import { lateOnBusyMachineMs } from "@superstep/toolkit/testing/busy-machine"
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

const failsWith = (status: number, words: RegExp) => (error: Error & { status?: number }) =>
  error.status === status && words.test(error.message)

const untilRunning = (threadId: string, runId: string) =>
  until(async () => (await client.runs.get(threadId, runId)).status === "running", { what: "the run executes" })

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

test("a run that is cancelled while its graph is made has its input in the thread, for every durability", async () => {
  for (const durability of ["sync", "async", "exit"] as const) {
    const threadId = await newThread()
    const input = { steps: ["mine"] }
    const run = { input, durability, config: { configurable: { making_ms: lateOnBusyMachineMs } } }
    const { run_id } = await client.runs.create(threadId, "named", run)
    await client.runs.cancel(threadId, run_id, true)

    const { status, attempt, input_saved } = Object(await client.runs.get(threadId, run_id))
    assert.deepEqual([status, attempt, input_saved], ["interrupted", 1, true], durability)
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
      [running, waiting, elsewhere].map(async (run) => (await client.runs.get(run.thread_id, run.run_id)).status),
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
  const { user_id, langsmith_project, langsmith_example_id, graph_id } = configurable
  assert.deepEqual([user_id, langsmith_project, langsmith_example_id, graph_id], ["ann", "p", "e", "echo"])
  assert.equal(configurable.langgraph_auth_user, undefined)
  assert.equal(configurable.__secret, undefined)
  assert.deepEqual([metadata.n, recursionLimit], [1, 31])
})
