/** Runs that go on while something happens to the agent: each that was accepted must end with success, and be seen whole. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Client } from "@langchain/langgraph-sdk"
import { until } from "@superstep/toolkit/testing/until"

export interface EndedRun {
  /** Empty when the run has ended with success, and its saved state and its stream have each of its steps once. */
  readonly problem: string
  /** How often its stream was resumed. */
  readonly resumed: number
}

/** Disposing of it waits for what is under way, so that a test that fails ends. */
export interface SteadyRuns extends AsyncDisposable {
  /** How many have ended so far. */
  endedCount(): number
  /** Starts no other ones. @returns  all of them, when they have ended */
  stop(): Promise<readonly EndedRun[]>
}

interface Shape {
  /** How many there are at a time. */
  readonly count: number
  readonly steps: number
  readonly everyMs: number
}

interface Chunk {
  readonly id?: string
  readonly event: string
  readonly data: unknown
}

/** @param client  tries nothing twice */
export function keepRunning(client: Client, shape: Shape): SteadyRuns {
  const ended: EndedRun[] = []
  let isOver = false
  const keepOne = async () => {
    try {
      while (!isOver) {
        const run = await runOnce(client, shape)
        if (run) ended.push(run)
        else await sleep(50)
      }
    } finally {
      isOver = true
    }
  }
  const all = Promise.allSettled(Array.from({ length: shape.count }, keepOne))
  const finish = () => {
    isOver = true
    return all
  }
  return {
    endedCount: () => {
      if (isOver) throw new Error("a run has failed: stop() has the reason")
      return ended.length
    },
    stop: async () => {
      for (const result of await finish()) if (result.status === "rejected") throw result.reason
      return ended
    },
    [Symbol.asyncDispose]: async () => void (await finish()),
  }
}

/** @returns  undefined when the agent has not accepted it */
async function runOnce(client: Client, { steps, everyMs }: Shape): Promise<EndedRun | undefined> {
  const thread = await client.threads.create().catch(refused)
  if (!thread) return undefined
  const threadId = thread.thread_id
  const run = await client.runs
    .create(threadId, "ticks", {
      input: { count: 0, steps, everyMs },
      streamMode: ["custom"],
      streamResumable: true,
      config: { recursion_limit: 5000 },
    })
    .catch(refused)
  if (!run) return undefined
  const id = run.run_id
  const ticks: number[] = []
  let status: string | undefined
  // With it a join starts at the first event of the run.
  let lastId = "-1"
  let connections = 0
  const read = async (stream: AsyncIterable<Chunk>) => {
    connections++
    for await (const { id, event, data } of stream) {
      if (id !== undefined) lastId = id
      if (event === "custom") ticks.push((data as { tick: number }).tick)
      if (event === "end") status = (data as { status: string }).status
    }
  }
  // A stream that is cut, by an error or by its end, is joined again behind the last event that came.
  const isWhole = async () => {
    if (status !== undefined) return true
    await read(client.runs.joinStream(threadId, id, { lastEventId: lastId }) as AsyncIterable<Chunk>).catch(refused)
    return status !== undefined
  }
  await until(isWhole, { what: `the stream of run ${id} ends`, timeoutMs: 400_000 })
  const whatIsStored = async () => {
    const [{ status }, { values }] = await Promise.all([
      client.runs.get(threadId, id),
      client.threads.getState<{ log: number[] }>(threadId),
    ])
    return { stored: status, log: JSON.stringify(values.log) }
  }
  const found = await until(() => whatIsStored().catch(refused), { what: `run ${id} is read`, timeoutMs: 400_000 })
  const expected = JSON.stringify(Array.from({ length: steps }, (_, n) => n))
  const isRight =
    status === "success" &&
    found.stored === "success" &&
    found.log === expected &&
    JSON.stringify([...new Set(ticks)]) === expected
  return {
    problem: isRight ? "" : `run ${id}: ${status}, ${found.stored}, ${found.log}, streamed ${ticks}`,
    resumed: connections - 1,
  }
}

/** While nothing serves, a request fails; whoever sent it tries again. */
const refused = (error: unknown): undefined => {
  if (!(error instanceof Error)) throw error
}
