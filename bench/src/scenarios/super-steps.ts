/** The cost of super-steps: a long loop with a checkpoint after each step, and one step with many branches. */
import { streamRun } from "../http-client.js"
import type { Options } from "../options.js"
import type { System } from "../systems/system.js"
import { check, checkFrame, createThread, type Sample, type Scenario, stateOf, withoutEdge } from "./scenario.js"

export const superStepScenarios = ({ isQuick }: Options): Scenario[] => {
  const [steps, branches] = isQuick ? [20, 50] : [200, 500]
  const loop = (durability: string, kilobytes: number): Scenario => ({
    name: `${steps} super-steps, ${kilobytes} KB state, ${durability}`,
    metrics: [{ key: "stepsPerSecond", label: "super-steps", unit: "/s", better: "high" }],
    systems: withoutEdge,
    warmUps: 1,
    requests: isQuick ? 1 : 3,
    run: (system) => runLoop(system, { steps, durability, size: kilobytes * 1024 }),
  })
  return [
    loop("async", 4),
    loop("sync", 4),
    loop("async", 64),
    {
      name: `fan-out over ${branches} branches`,
      metrics: [{ key: "ms", label: "request p50", unit: "ms", better: "low" }],
      systems: withoutEdge,
      warmUps: 1,
      requests: isQuick ? 1 : 5,
      run: (system) => fanOut(system, branches),
    },
  ]
}

// A mode without events: the result is read from the state afterwards.
const streamMode = "custom"

interface Loop {
  readonly steps: number
  readonly durability: string
  /** Size of the state in bytes. */
  readonly size: number
}

async function runLoop(system: System, { steps, durability, size }: Loop): Promise<Sample> {
  const threadId = await createThread(system.target)
  const run = await streamRun(system.target, `/threads/${threadId}/runs/stream`, {
    assistant_id: "steps",
    input: { steps, size },
    stream_mode: streamMode,
    durability,
    config: { recursion_limit: steps + 10 },
  })
  checkFrame(system, run)
  const { step, text } = await stateOf<{ step: number; text: string }>(system.target, threadId)
  check(step === steps && text.length === size, `the loop ended after ${step} of ${steps} steps`)
  return { stepsPerSecond: (steps / run.endMs) * 1000 }
}

async function fanOut(system: System, branches: number): Promise<Sample> {
  const threadId = await createThread(system.target)
  const run = await streamRun(system.target, `/threads/${threadId}/runs/stream`, {
    assistant_id: "fan_out",
    input: { branches },
    stream_mode: streamMode,
  })
  checkFrame(system, run)
  const { results } = await stateOf<{ results: number[] }>(system.target, threadId)
  const sum = results.reduce((total, result) => total + result, 0)
  check(results.length === branches, `${results.length} of ${branches} branches have a result`)
  check(sum === branches * (branches - 1), "the branches' results are wrong")
  return { ms: run.endMs }
}
