import { type Scenario, withoutEdge } from "./scenario.js"

const metrics = [
  { key: "okMs", label: "/ok answers", unit: "ms", better: "low" },
  { key: "firstRunMs", label: "first run has ended", unit: "ms", better: "low" },
] as const

/** The start time of a process, with a warm disk cache: with an existing database, and as `superstep serve` on an empty folder. */
export const startScenarios = (): Scenario[] => [
  {
    name: "start of the server",
    metrics,
    systems: withoutEdge,
    warmUps: 1,
    requests: 1,
    run: async (system) => ({ ...(await system.timeStart()) }),
  },
  {
    name: "start on an empty folder",
    metrics,
    systems: withoutEdge,
    warmUps: 1,
    requests: 1,
    run: async (system) => ({ ...(await system.timeStart({ isFirst: true })) }),
  },
]
