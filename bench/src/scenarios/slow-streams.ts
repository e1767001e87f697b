/** Many slow streams, and their memory. */
import { setMaxListeners } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import { BenchFailed, parseRun, type Recording, recordRun } from "../http-client.js"
import type { Options } from "../options.js"
import { memoryOf, treeOf } from "../process-usage.js"
import type { System } from "../systems/system.js"
import { type Sample, type Scenario, withoutEdge } from "./scenario.js"
import { checkTokens, tokensRequest } from "./tokens.js"

export const slowStreamScenarios = ({ isQuick }: Options): Scenario[] => {
  const [streams, tokens] = isQuick ? [20, 2] : [1000, 10]
  return [
    {
      name: `${streams} slow streams`,
      metrics: [
        { key: "complete", label: "complete streams", unit: "", better: "high" },
        { key: "memory", label: "memory over idle", unit: "MB", better: "low" },
      ],
      systems: withoutEdge,
      warmUps: 0,
      requests: 1,
      // A process does not return memory, so a second round would measure less.
      maxRounds: 1,
      run: (system) => openStreams(system, streams, tokens),
    },
  ]
}

// Pause between opening two streams. A thousand at once would overflow the backlog of a listening socket.
const pauseMs = 1
const sampleMs = 1_000
const limitMs = 60_000

async function openStreams(system: System, streams: number, tokens: number): Promise<Sample> {
  await Promise.all(Array.from({ length: 10 }, () => recordRun(system.target, "/runs/stream", tokensRequest("5"))))
  const idle = await memoryNow(system)
  const signal = AbortSignal.timeout(limitMs)
  setMaxListeners(0, signal)
  const open: Promise<Recording | undefined>[] = []
  for (let index = 0; index < streams; index++) {
    open.push(slowStream(system, tokens, signal))
    await sleep(pauseMs)
  }
  const over = new AbortController()
  const peak = highestMemory(system, over.signal)
  const recordings = await Promise.all(open)
  over.abort()
  return {
    complete: recordings.filter((recording) => isComplete(system, recording, tokens)).length,
    memory: ((await peak) - idle) / 1e6,
  }
}

/** A failed stream is incomplete, and does not affect the measurement of the others. */
const slowStream = (system: System, tokens: number, signal: AbortSignal): Promise<Recording | undefined> =>
  recordRun(system.target, "/runs/stream", tokensRequest(`${tokens} every 1000`), signal).catch(() => undefined)

function isComplete(system: System, recording: Recording | undefined, tokens: number): boolean {
  try {
    if (recording) checkTokens(system, parseRun(recording), tokens)
    return recording !== undefined
  } catch (error) {
    if (error instanceof BenchFailed) return false
    throw error
  }
}

async function highestMemory(system: System, signal: AbortSignal): Promise<number> {
  let highest = Number.NEGATIVE_INFINITY
  while (!signal.aborted) {
    highest = Math.max(highest, await memoryNow(system))
    await sleep(sampleMs)
  }
  return highest
}

const memoryNow = async ({ pids }: System): Promise<number> => memoryOf(await treeOf(pids))
