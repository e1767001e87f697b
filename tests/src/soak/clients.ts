/** What the soak's clients do, each checked on the spot. A worker may be killed at any moment of it. */
import assert from "node:assert/strict"
import type { Client, Run, StreamMode } from "@langchain/langgraph-sdk"
import type { Random } from "@superstep/toolkit/testing/seeded-random"
import { until } from "@superstep/toolkit/testing/until"
import type { AgentServerProcess } from "../testing/agent-servers.js"
import { EventReader } from "../testing/event-reader.js"

export interface Visit {
  readonly server: AgentServerProcess
  readonly client: Client
  /** Of the soak's seed. */
  readonly random: Random
  /** Threads that it made: a failure is told with what the server logged about them. */
  readonly threads: string[]
}

interface StepsState {
  readonly log: number[]
}

interface Chunk {
  readonly id?: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: what a chunk holds is what each client asserts
  readonly data: any
}

/** What the log holds once `count` steps were made, each once. */
const stepsTo = (count: number): number[] => Array.from({ length: count }, (_, step) => step)

const steps = ({ random }: Visit) => ({ steps: random.between(1, 6), everyMs: random.between(0, 15) })
// Long enough for somebody to come in between, whatever the machine does.
const longRun = { steps: 400, everyMs: 25 }
const manySteps = { config: { recursion_limit: 500 } }

async function collect(stream: AsyncIterable<unknown>): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  for await (const chunk of stream) chunks.push(chunk as Chunk)
  return chunks
}

async function newThread({ client, threads }: Visit): Promise<string> {
  const { thread_id } = await client.threads.create()
  threads.push(thread_id)
  return thread_id
}

const untilOver = ({ client }: Visit, { thread_id, run_id }: Run): Promise<Run> =>
  until(
    async () => {
      const run = await client.runs.get(thread_id, run_id)
      return run.status !== "pending" && run.status !== "running" && run
    },
    { what: `run ${run_id} is over`, timeoutMs: 60_000 },
  )

async function statelessStream(visit: Visit): Promise<void> {
  const input = steps(visit)
  const streamMode: StreamMode[] = ["values", "custom", "updates"]
  const chunks = await collect(visit.client.runs.stream(null, "steps", { input, streamMode }))
  assert.equal(chunks.at(-1)?.data.status, "success")
  assert.deepEqual(chunks.findLast(({ event }) => event === "values")?.data.log, stepsTo(input.steps))
}

async function threadedTurns(visit: Visit): Promise<void> {
  const { client } = visit
  const threadId = await newThread(visit)
  let made = 0
  for (let turn = 0; turn < 3; turn++) {
    const input = steps(visit)
    made += input.steps
    await collect(client.runs.stream(threadId, "steps", { input, streamMode: "updates" }))
    const { values } = await client.threads.getState<StepsState>(threadId)
    assert.deepEqual(values.log, stepsTo(made))
  }
  // One of the input and one of each step, a turn.
  const history = await client.threads.getHistory<StepsState>(threadId, { limit: 100 })
  assert.equal(history.length, made + 3 * 2)
  assert.deepEqual(history[0]?.values.log, stepsTo(made))
}

async function waits(visit: Visit): Promise<void> {
  const { client } = visit
  const alone = steps(visit)
  const result = (await client.runs.wait(null, "steps", { input: alone })) as unknown as StepsState
  assert.deepEqual(result.log, stepsTo(alone.steps))
  const threadId = await newThread(visit)
  const input = steps(visit)
  const threaded = (await client.runs.wait(threadId, "steps", { input })) as unknown as StepsState
  assert.deepEqual(threaded.log, stepsTo(input.steps))
}

async function backgroundAndJoins(visit: Visit): Promise<void> {
  const { client } = visit
  const threadId = await newThread(visit)
  const input = { steps: visit.random.between(3, 8), everyMs: 20 }
  const run = await client.runs.create(threadId, "steps", { input })
  const streams = [1, 2, 3].map(() => collect(client.runs.joinStream(threadId, run.run_id)))
  const [values, ...joined] = await Promise.all([client.runs.join(threadId, run.run_id), ...streams])
  assert.deepEqual((values as unknown as StepsState).log, stepsTo(input.steps))
  for (const chunks of joined) assert.equal(chunks.at(-1)?.data.status, "success")
  assert.equal((await client.runs.get(threadId, run.run_id)).status, "success")
}

/** Leaves after a few events; the run goes on, or is cancelled with it. */
async function leaves(visit: Visit): Promise<void> {
  const { server, random } = visit
  const threadId = await newThread(visit)
  const isCancelled = random.between(0, 1) === 1
  const input = isCancelled ? longRun : { steps: random.between(5, 12), everyMs: 15 }
  const body = { assistant_id: "steps", input, stream_mode: "custom", ...manySteps }
  const on_disconnect = isCancelled ? "cancel" : "continue"
  const path = `/threads/${threadId}/runs/stream`
  const reader = await EventReader.open(server, { path, body: { ...body, on_disconnect } })
  await until(() => reader.events.length > 1, { what: "the first events" })
  reader.leave()
  const runId = reader.location.split("/").at(-1) ?? ""
  const over = await untilOver(visit, { thread_id: threadId, run_id: runId } as Run)
  assert.equal(over.status, isCancelled ? "interrupted" : "success")
  if (isCancelled) return
  const { values } = await visit.client.threads.getState<StepsState>(threadId)
  assert.deepEqual(values.log, stepsTo(input.steps))
}

async function cancels(visit: Visit): Promise<void> {
  const { client, random } = visit
  const threadId = await newThread(visit)
  await client.runs.wait(threadId, "steps", { input: { steps: 2, everyMs: 0 } })
  const run = await client.runs.create(threadId, "steps", { input: longRun, ...manySteps })
  const isRunning = async () => (await client.runs.get(threadId, run.run_id)).status === "running"
  if (random.between(0, 1) === 1) await until(isRunning, { what: "the run is running", timeoutMs: 60_000 })
  const action = random.between(0, 1) === 1 ? "interrupt" : "rollback"
  await client.runs.cancel(threadId, run.run_id, true, action)
  if (action === "interrupt") {
    assert.equal((await client.runs.get(threadId, run.run_id)).status, "interrupted")
    return
  }
  await assert.rejects(client.runs.get(threadId, run.run_id), /404/)
  const { values } = await client.threads.getState<StepsState>(threadId)
  assert.deepEqual(values.log, stepsTo(2))
}

async function multitask(visit: Visit): Promise<void> {
  const { client, random } = visit
  const multitaskStrategy = (["reject", "enqueue", "interrupt", "rollback"] as const)[random.between(0, 3)] ?? "enqueue"
  const threadId = await newThread(visit)
  const input = multitaskStrategy === "enqueue" ? { steps: 10, everyMs: 50 } : longRun
  const first = await client.runs.create(threadId, "steps", { input, ...manySteps })
  const next = { input: { steps: 2, everyMs: 0 }, multitaskStrategy, ...manySteps }
  if (multitaskStrategy === "reject") {
    await assert.rejects(client.runs.create(threadId, "steps", next), /409/)
    await client.runs.cancel(threadId, first.run_id, true)
    assert.equal((await client.runs.get(threadId, first.run_id)).status, "interrupted")
    return
  }
  const second = await client.runs.create(threadId, "steps", next)
  assert.equal((await untilOver(visit, second)).status, "success")
  const { values } = await client.threads.getState<StepsState>(threadId)
  // An interrupted run leaves its steps, of which the second one makes two more only when it ends within them.
  if (multitaskStrategy === "enqueue") assert.deepEqual(values.log, stepsTo(12))
  if (multitaskStrategy === "rollback") assert.deepEqual(values.log, stepsTo(2))
  if (multitaskStrategy === "interrupt") assert.deepEqual(values.log, stepsTo(values.log.length))
  const former = client.runs.get(threadId, first.run_id)
  if (multitaskStrategy === "rollback") await assert.rejects(former, /404/)
  else assert.equal((await former).status, multitaskStrategy === "enqueue" ? "success" : "interrupted")
}

async function asksAPerson(visit: Visit): Promise<void> {
  const { client } = visit
  const threadId = await newThread(visit)
  await collect(client.runs.stream(threadId, "ask", { input: {} }))
  assert.equal((await client.threads.get(threadId)).status, "interrupted")
  await collect(client.runs.stream(threadId, "ask", { command: { resume: "yes" } }))
  const { values } = await client.threads.getState<{ answers: string[] }>(threadId)
  assert.deepEqual(values.answers, ["yes"])
}

/** Comes back again and again to a resumable stream, and compares with one who reads it in one go. */
async function reconnects(visit: Visit): Promise<void> {
  const { server, client, random } = visit
  const threadId = await newThread(visit)
  const count = random.between(8, 20)
  const options = { input: { steps: count, everyMs: 15 }, streamMode: "custom", streamResumable: true } as const
  const run = await client.runs.create(threadId, "steps", { ...options, ...manySteps })
  const path = `/threads/${threadId}/runs/${run.run_id}/stream`
  const ids: number[] = []
  for (let hasEnded = false; !hasEnded; ) {
    const onEvent = ({ id, event }: { id: number; event: string }) => {
      if (hasEnded) return
      ids.push(id)
      hasEnded = event === "end"
    }
    const reader = await EventReader.open(server, { path, lastEventId: ids.at(-1) ?? -1, onEvent })
    const enough = ids.length + random.between(1, 6)
    await until(() => hasEnded || ids.length >= enough, { what: "a few more events", timeoutMs: 60_000 })
    reader.leave()
    await reader.over
  }
  const all = await collect(client.runs.joinStream(threadId, run.run_id, { lastEventId: "-1" }))
  assert.deepEqual(
    ids,
    all.map(({ id }) => Number(id)),
  )
  const { values } = await client.threads.getState<StepsState>(threadId)
  assert.deepEqual(values.log, stepsTo(count))
}

async function keepsNotes(visit: Visit): Promise<void> {
  const owner = `o${visit.random.between(0, 1e9)}`
  const input = { owner, texts: ["remember", "forget"] }
  const result = (await visit.client.runs.wait(null, "notes", { input })) as unknown as { found: string[] }
  assert.deepEqual(result.found, input.texts)
}

async function fails(visit: Visit): Promise<void> {
  const { client } = visit
  const threadId = await newThread(visit)
  const chunks = await collect(client.runs.stream(threadId, "fail", { input: { good: 1 } }))
  assert.match(chunks.find(({ event }) => event === "error")?.data.message, /broken on purpose/)
  assert.equal((await client.threads.get(threadId)).status, "error")
  const { values } = await client.threads.getState<{ good: number }>(threadId)
  assert.equal(values.good, 2)
}

/** Does not read for as long as the run takes, then reads everything: 2 MB are within the bound. */
async function readsLate(visit: Visit): Promise<void> {
  const { server } = visit
  const thread_id = await newThread(visit)
  const path = `/threads/${thread_id}/runs/stream`
  const body = { assistant_id: "flood", input: { events: 64, eventBytes: 32 * 1024 }, stream_mode: "custom" }
  const reader = await EventReader.open(server, { path, body, paused: true })
  const run_id = reader.location.split("/").at(-1) ?? ""
  await untilOver(visit, { thread_id, run_id } as Run)
  reader.resume()
  assert.equal(await reader.over, "ended")
  assert.ok(reader.events.filter(({ event }) => event === "custom").length >= 64)
}

async function comesLater(visit: Visit): Promise<void> {
  const { client } = visit
  const threadId = await newThread(visit)
  const run = await client.runs.create(threadId, "steps", { input: { steps: 1, everyMs: 0 }, afterSeconds: 1 })
  assert.equal((await untilOver(visit, run)).status, "success")
}

async function asksForNothing({ client }: Visit): Promise<void> {
  const nobody = "00000000-0000-4000-8000-000000000000"
  await assert.rejects(client.runs.get(nobody, nobody), /404/)
  await assert.rejects(client.runs.create(nobody, "steps", {}), /404/)
  await assert.rejects(client.runs.wait(null, "no-such-graph", {}), /404/)
}

export const clients: readonly ((visit: Visit) => Promise<void>)[] = [
  statelessStream,
  statelessStream,
  statelessStream,
  threadedTurns,
  waits,
  waits,
  backgroundAndJoins,
  leaves,
  cancels,
  multitask,
  asksAPerson,
  reconnects,
  keepsNotes,
  fails,
  readsLate,
  comesLater,
  asksForNothing,
]
