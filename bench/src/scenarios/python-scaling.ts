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
    run: (_, cleanup) => scaling(cleanup, isQuick ? { runs: 16, rounds: 50_000 } : { runs: 80, rounds: 1_500_000 }),
  },
]

async function scaling(cleanup: Cleanup, size: { runs: number; rounds: number }): Promise<Sample> {
  const folder = temporaryFolder()
  await using own = new Cleanup()
  cleanup.add(() => own[Symbol.asyncDispose]())
  const postgres = await startDatabases(folder, own)
  const rateWith = async (workers: number) => {
    await using servers = new Cleanup()
    own.add(() => servers[Symbol.asyncDispose]())
    const databaseUri = await newDatabase(postgres)
    const launch = launchOn(folder, { number: workers, databaseUri, workers, env: pythonGraphs() })
    const { target } = await startServer(launch, servers)
    // The second worker starts when the first one is overloaded.
    await compute(target, size)
    return compute(target, size)
  }
  const one = await rateWith(1)
  const two = await rateWith(2)
  return { one, two, ratio: two / one }
}

/** @returns runs per second */
async function compute(target: Target, { runs, rounds }: { runs: number; rounds: number }): Promise<number> {
  const begin = performance.now()
  await inParallel(clients, runs, async () => {
    const body = { assistant_id: "compute", input: { rounds } }
    const { result } = (await callJson(target, "POST", "/runs/wait", body)) as { result?: number }
    check(typeof result === "number", "the graph computed nothing")
  })
  return (runs / (performance.now() - begin)) * 1000
}
