/** What the soak's clients do, each checked on the spot. A worker may be killed at any moment of it. */
import assert from "node:assert/strict"
import { join } from "node:path"
import type { Client, Run, StreamMode } from "@langchain/langgraph-sdk"
import type { Database } from "@superstep/toolkit/db/database"
import type { Random } from "@superstep/toolkit/testing/seeded-random"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { Recorder } from "../histories/call.js"
import { judgeHistory } from "../histories/judge.js"
import { ThreadWriters } from "../histories/writers.js"
import type { AgentServerProcess } from "../testing/agent-servers.js"
import { EventReader } from "../testing/event-reader.js"

export interface Visit {
  readonly server: AgentServerProcess
  readonly client: Client
  readonly db: Database
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

/** All that clients can ask of a thread, judged as in ../histories. */
async function writes({ server: { url, headers }, db, random }: Visit): Promise<void> {
  const seed = random.between(0, 2 ** 31)
  const recorder = new Recorder(join(temporaryFolder(), `${seed}.jsonl`))
  const shared = { name: `thread-${seed}`, seed, writers: 2, calls: 8 }
  const writers = new ThreadWriters(shared, { recorder, db, url: () => url, headers })
  await writers.write()
  await writers.readLast()
  assert.deepEqual(judgeHistory(recorder.calls).faults, [])
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
  writes,
  writes,
  writes,
  writes,
  leaves,
  reconnects,
  keepsNotes,
  fails,
  readsLate,
  comesLater,
  asksForNothing,
]
