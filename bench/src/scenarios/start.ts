import type { System } from "../systems/system.js"
import { type Sample, type Scenario, withoutEdge } from "./scenario.js"

/** The start time of a process, with an existing database and a warm disk cache. */
export const startScenarios = (): Scenario[] => [
  {
    name: "start of the server",
    metrics: [
      { key: "okMs", label: "/ok answers", unit: "ms", better: "low" },
      { key: "firstRunMs", label: "first run has ended", unit: "ms", better: "low" },
    ],
    systems: withoutEdge,
    warmUps: 1,
    requests: 1,
    run,
  },
]

const run = async (system: System): Promise<Sample> => ({ ...(await system.timeStart()) })
