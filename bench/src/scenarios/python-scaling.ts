/** How much faster two workers compute in Python than one: a process of Python executes one thread at a time. */
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { callJson, type Target } from "../http-client.js"
import type { Options } from "../options.js"
import { Cleanup } from "../processes.js"
import { newDatabase } from "../systems/new-database.js"
import { pythonGraphs } from "../systems/python.js"
import { launchOn, startDatabases } from "../systems/server.js"
import { startServer } from "../systems/system.js"
import { check, inParallel, type Sample, type Scenario } from "./scenario.js"

// Enough for both workers at every moment.
const clients = 8
// A worker that computes for a second counts as overloaded, and the next one starts.
const warmUpFactor = 10
const mostWarmUps = 20

/** What each run computes. */
interface Work {
  readonly rounds: number
  readonly result: number
}

export const pythonScalingScenarios = ({ isQuick }: Options): Scenario[] => [
  {
    name: "Python graphs that compute",
    metrics: [
      { key: "one", label: "runs, 1 worker", unit: "/s", better: "high" },
      { key: "two", label: "runs, 2 workers", unit: "/s", better: "high" },
      { key: "ratio", label: "ratio", unit: "", better: "high" },
    ],
    systems: ["python"],
    warmUps: 0,
    requests: 1,
    maxRounds: 3,
    run: (_, cleanup) => scaling(cleanup, isQuick ? { runs: 16, rounds: 300_000 } : { runs: 96, rounds: 1_500_000 }),
  },
]

async function scaling(cleanup: Cleanup, { runs, rounds }: { runs: number; rounds: number }): Promise<Sample> {
  const folder = temporaryFolder()
  await using own = new Cleanup()
  cleanup.add(() => own[Symbol.asyncDispose]())
  const postgres = await startDatabases(folder, own)
  const [work, warmUp] = [workOf(rounds), workOf(rounds * warmUpFactor)]
  const start = async (workers: number) => {
    const databaseUri = await newDatabase(postgres)
    const launch = launchOn(folder, { number: workers, databaseUri, workers, env: pythonGraphs() })
    const { target } = await startServer(launch, own)
    await untilComputing(target, workers, warmUp)
    return { target, workers, pids: new Set<number>(), ms: 0 }
  }
  const servers = [await start(1), await start(2)]
  // In turns, so that changes of the machine's speed affect both.
  for (let batch = 0; batch < runs; batch += clients)
    for (const server of servers) {
      const begin = performance.now()
      const pids = await compute(server.target, work)
      server.ms += performance.now() - begin
      for (const pid of pids) server.pids.add(pid)
    }
  for (const { workers, pids } of servers) check(pids.size === workers, `${pids.size} of ${workers} processes computed`)
  const [one = Number.NaN, two = Number.NaN] = servers.map(({ ms }) => (runs / ms) * 1000)
  return { one, two, ratio: two / one }
}

/** Computes until all workers have started. */
async function untilComputing(target: Target, workers: number, work: Work): Promise<void> {
  for (let at = 0; at < mostWarmUps; at++) if ((await compute(target, work)).size === workers) return
  check(false, `fewer than ${workers} workers have started`)
}

/** One run for each client. @returns the processes that executed them */
async function compute(target: Target, work: Work): Promise<ReadonlySet<number>> {
  const pids = await inParallel(clients, clients, async () => {
    const body = { assistant_id: "compute", input: { rounds: work.rounds } }
    const { result, pid } = (await callJson(target, "POST", "/runs/wait", body)) as { result?: number; pid: number }
    check(result === work.result, `the graph computed ${result} instead of ${work.result}`)
    return pid
  })
  return new Set(pids)
}

/** The work with the result that the graph must have. */
function workOf(rounds: number): Work {
  let result = 0
  for (let number = 0; number < rounds; number++) result = (result * 31 + number) % 1_000_003
  return { rounds, result }
}
