/** One run with many listeners. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { Options } from "../options.js"
import { openRawStream, type RawStream } from "../raw-stream.js"
import type { System } from "../systems/system.js"
import { createRun, createThread, type Sample, type Scenario, withoutEdge } from "./scenario.js"

export const joinerScenarios = ({ isQuick }: Options): Scenario[] => {
  const [joiners, events] = isQuick ? [10, 100] : [200, 1000]
  return [
    {
      name: `${joiners} joiners of one run`,
      metrics: [
        { key: "eventsPerSecond", label: "events delivered", unit: "/s", better: "high" },
        { key: "complete", label: "complete joiners", unit: "", better: "high" },
      ],
      systems: withoutEdge,
      warmUps: 1,
      requests: 1,
      maxRounds: 3,
      run: (system) => joinOneRun(system, joiners, events),
    },
  ]
}

// Some systems send the headers only with the first event. After this time all joiners are assumed to be connected.
const joinMs = 2_000
// Time after which missing events are considered lost.
const limitMs = 20_000

/**
 * The run's first node waits for a file, which is created when every joiner has received response headers. The clock starts
 * then and stops with the last byte. A joiner is complete when it has all events in order.
 */
async function joinOneRun(system: System, joiners: number, events: number): Promise<Sample> {
  const folder = await mkdtemp(join(tmpdir(), "superstep-bench-"))
  const gate = join(folder, "gate")
  const threadId = await createThread(system.target)
  const request = { assistant_id: "broadcast", input: { gate, events }, stream_mode: "custom" }
  const runId = await createRun(system.target, threadId, request)
  const path = `/threads/${threadId}/runs/${runId}/stream?stream_mode=custom`
  const streams = Array.from({ length: joiners }, () => openRawStream(system.target, path))
  await Promise.race([Promise.all(streams.map(({ joined }) => joined)), sleep(joinMs)])
  const begin = performance.now()
  await writeFile(gate, "")
  await Promise.race([Promise.all(streams.map(({ ended }) => ended)), sleep(limitMs, undefined, { ref: false })])
  for (const stream of streams) stream.giveUp()
  await rm(folder, { recursive: true })
  return count(system, streams, { begin, events })
}

function count(system: System, streams: readonly RawStream[], asked: { begin: number; events: number }): Sample {
  const got = streams.map((stream) => stream.events())
  const delivered = got.map((events) => events.filter(({ name }) => name === "custom"))
  const isComplete = (index: number) =>
    delivered[index]?.length === asked.events &&
    delivered[index].every(({ data }, number) => JSON.parse(data).number === number) &&
    (!system.saysEnd || got[index]?.at(-1)?.name === "end")
  const total = delivered.reduce((sum, { length }) => sum + length, 0)
  const end = Math.max(...streams.map(({ lastAt }) => lastAt()))
  return {
    eventsPerSecond: (total / (end - asked.begin)) * 1000,
    complete: streams.filter((_, index) => isComplete(index)).length,
  }
}
