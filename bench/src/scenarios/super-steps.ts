/** What a super-step costs: a long loop with a checkpoint after each step, and one step with very many branches. */
import { streamRun } from "../http-client.js"
import type { Options } from "../options.js"
import type { System } from "../systems/system.js"
import { check, checkFrame, createThread, type Sample, type Scenario, stateOf, withoutEdge } from "./scenario.js"

export const superStepScenarios = ({ isQuick }: Options): Scenario[] => {
  const [steps, branches] = isQuick ? [20, 50] : [200, 500]
  const loop = (durability: string): Scenario => ({
    name: `${steps} super-steps, 4 KB state, ${durability}`,
    metrics: [{ key: "stepsPerSecond", label: "super-steps", unit: "/s", better: "high" }],
    systems: withoutEdge,
    warmUps: 1,
    requests: isQuick ? 1 : 3,
    run: (system) => runLoop(system, steps, durability),
  })
  return [
    loop("async"),
    loop("sync"),
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

// Only what is needed to know that it ended well: the state is read afterwards.
const streamMode = "custom"

async function runLoop(system: System, steps: number, durability: string): Promise<Sample> {
  const threadId = await createThread(system.target)
  const run = await streamRun(system.target, `/threads/${threadId}/runs/stream`, {
    assistant_id: "steps",
    input: { steps },
    stream_mode: streamMode,
    durability,
    config: { recursion_limit: steps + 10 },
  })
  checkFrame(system, run)
  const { step, text } = await stateOf<{ step: number; text: string }>(system.target, threadId)
  check(step === steps && text.length === 4096, `the loop ended after ${step} of ${steps} steps`)
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
  check(sum === branches * (branches - 1), "the branches' results are not theirs")
  return { ms: run.endMs }
}
