/** The processor time of a short run, of all processes of a system including Postgres but not the load generator. */
import { parseRun, recordRun } from "../http-client.js"
import type { Options } from "../options.js"
import type { System } from "../systems/system.js"
import { type Sample, type Scenario, spending, withoutEdge } from "./scenario.js"
import { checkTokens, tokensRequest } from "./tokens.js"

const tokens = 5

export const processorTimeScenarios = ({ isQuick }: Options): Scenario[] => {
  const runs = isQuick ? 10 : 200
  return [
    {
      name: "processor time, 5 tokens",
      metrics: [{ key: "cpuMs", label: "each run", unit: "ms", better: "low" }],
      systems: withoutEdge,
      warmUps: isQuick ? 0 : 5,
      requests: 1,
      run: (system) => processorTime(system, runs),
    },
  ]
}

/** Sequential stateless streams. */
async function processorTime(system: System, runs: number): Promise<Sample> {
  const { result: recordings, cpuMs } = await spending(system, runs, async () => {
    const each = []
    for (let count = 0; count < runs; count++) {
      each.push(await recordRun(system.target, "/runs/stream", tokensRequest(`${tokens}`)))
    }
    return each
  })
  for (const recording of recordings) checkTokens(system, parseRun(recording), tokens)
  return { cpuMs }
}
