/** The newer streaming protocol: many readers of one thread, a replay, and the first event beside that of the older API. */
import { randomUUID } from "node:crypto"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { StreamedEvent } from "../event-reader.js"
import { BenchFailed, callJson } from "../http-client.js"
import type { Options } from "../options.js"
import { openRawStream, type RawStream } from "../raw-stream.js"
import type { System } from "../systems/system.js"
import { check, createThread, getRun, isFinal, type Sample, type Scenario, userSays } from "./scenario.js"

export const threadReaderScenarios = ({ isQuick, requests }: Options): Scenario[] => {
  const [readers, events, replayed] = isQuick ? [10, 100, 200] : [200, 1000, 10_000]
  const common = { systems: ["server"], warmUps: 1, requests: 1, maxRounds: 3 } as const
  return [
    {
      ...common,
      name: `${readers} readers of one thread, newer protocol`,
      metrics: [
        { key: "eventsPerSecond", label: "events to the readers of a thread", unit: "/s", better: "high" },
        { key: "complete", label: "complete readers", unit: "", better: "high" },
      ],
      run: (system) => readOneThread(system, readers, events),
    },
    {
      ...common,
      name: `a replay of ${replayed} events, newer protocol`,
      metrics: [{ key: "eventsPerSecond", label: "events replayed", unit: "/s", better: "high" }],
      run: (system) => replayOneThread(system, replayed),
    },
    {
      ...common,
      warmUps: isQuick ? 2 : 30,
      requests,
      name: "echo, newer protocol",
      metrics: [
        { key: "newerMs", label: "first values, newer protocol", unit: "ms", better: "low" },
        { key: "olderMs", label: "first values, older API, thread exists", unit: "ms", better: "low" },
        { key: "ratio", label: "newer ÷ older, first values", unit: "", better: "low" },
      ],
      run: firstValues,
    },
  ]
}

const limitMs = 60_000

/** @returns the id of the new run */
async function startRun(system: System, threadId: string, graph: string, input: unknown): Promise<string> {
  const params = { assistant_id: graph, input }
  const reply = (await callJson(system.target, "POST", `/threads/${threadId}/commands`, {
    id: 1,
    method: "run.start",
    params,
  })) as { result?: { run_id?: string } }
  if (reply.result?.run_id === undefined) throw new BenchFailed(`run.start returned ${JSON.stringify(reply)}`)
  return reply.result.run_id
}

/** @param lastText  ends the reading when it arrives: the stream of a thread has no end */
const readEvents = (system: System, threadId: string, channels: readonly string[], lastText: string): RawStream =>
  openRawStream(system.target, `/threads/${threadId}/stream/events`, { body: { channels }, lastText })

const numberOf = ({ data }: StreamedEvent): unknown => JSON.parse(data).params.data.payload.number

const isComplete = (stream: RawStream, events: number): boolean => {
  const got = stream.events().filter(({ name }) => name === "custom")
  return got.length === events && got.every((event, number) => numberOf(event) === number)
}

async function openGate(begin: (gate: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "superstep-bench-"))
  try {
    await begin(join(folder, "gate"))
  } finally {
    await rm(folder, { recursive: true })
  }
}

function giveUp(streams: readonly RawStream[]): void {
  for (const stream of streams) stream.giveUp()
}

const allEnded = (streams: readonly RawStream[]): Promise<unknown> => {
  const timer = setTimeout(() => giveUp(streams), limitMs)
  return Promise.all(streams.map(({ ended }) => ended)).finally(() => clearTimeout(timer))
}

/** The clock starts when all readers have the response headers and the graph may send, and stops with the last byte. */
async function readOneThread(system: System, readers: number, events: number): Promise<Sample> {
  const threadId = await createThread(system.target)
  let streams: RawStream[] = []
  let begin = Number.NaN
  await openGate(async (gate) => {
    await startRun(system, threadId, "broadcast", { gate, events })
    streams = Array.from({ length: readers }, () => readEvents(system, threadId, ["custom"], `"number":${events - 1}`))
    await Promise.all(streams.map(({ joined }) => joined))
    begin = performance.now()
    await writeFile(gate, "")
    await allEnded(streams)
  })
  const complete = streams.filter((stream) => isComplete(stream, events)).length
  const end = Math.max(...streams.map(({ lastAt }) => lastAt()))
  return { eventsPerSecond: ((readers * events) / (end - begin)) * 1000, complete }
}

async function replayOneThread(system: System, events: number): Promise<Sample> {
  const threadId = await createThread(system.target)
  await openGate(async (gate) => {
    await writeFile(gate, "")
    const run = { threadId, runId: await startRun(system, threadId, "broadcast", { gate, events }) }
    while (!isFinal(await getRun(system.target, run.threadId, run.runId))) await new Promise((r) => setTimeout(r, 20))
  })
  const begin = performance.now()
  const stream = readEvents(system, threadId, ["custom"], `"number":${events - 1}`)
  await allEnded([stream])
  check(isComplete(stream, events), "the replay is not complete")
  return { eventsPerSecond: (events / (stream.lastAt() - begin)) * 1000 }
}

/** Both streams end with the state after the graph's node. */
async function firstValues(system: System): Promise<Sample> {
  const newerMs = await firstValuesOfNewer(system)
  const olderMs = await firstValuesOfOlder(system)
  return { newerMs, olderMs, ratio: newerMs / olderMs }
}

async function firstValuesOfNewer(system: System): Promise<number> {
  const threadId = await createThread(system.target)
  const stream = readEvents(system, threadId, ["values"], '"method":"values"')
  await stream.joined
  const begin = performance.now()
  await startRun(system, threadId, "echo", userSays("hello"))
  await allEnded([stream])
  check(
    stream.events().some(({ name }) => name === "values"),
    "no values came",
  )
  return stream.lastAt() - begin
}

async function firstValuesOfOlder(system: System): Promise<number> {
  const threadId = await createThread(system.target)
  const body = { assistant_id: "echo", input: userSays("hello"), stream_mode: "values", run_id: randomUUID() }
  const begin = performance.now()
  const stream = openRawStream(system.target, `/threads/${threadId}/runs/stream`, { body, lastText: "event: values" })
  await allEnded([stream])
  return stream.lastAt() - begin
}
