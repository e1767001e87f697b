/** The newer streaming protocol: many readers of one thread, and a replay. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { StreamedEvent } from "../event-reader.js"
import type { Options } from "../options.js"
import type { RawStream } from "../raw-stream.js"
import type { System } from "../systems/system.js"
import { readEvents, startRun } from "./protocol-requests.js"
import { check, createThread, getRun, isFinal, type Sample, type Scenario } from "./scenario.js"

export const threadReaderScenarios = ({ isQuick }: Options): Scenario[] => {
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
  ]
}

const limitMs = 60_000

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
