/** Whether a server responds while user code blocks the event loops of all workers. */
import { setTimeout as sleep } from "node:timers/promises"
import { timeCall } from "../http-client.js"
import type { Options } from "../options.js"
import { percentile } from "../statistics.js"
import type { System } from "../systems/system.js"
import {
  check,
  createRun,
  createThread,
  type Sample,
  type Scenario,
  stateOf,
  untilEnded,
  withoutEdge,
} from "./scenario.js"

export const burningScenarios = ({ isQuick }: Options): Scenario[] => [
  {
    name: "two burning graphs",
    metrics: [
      { key: "okMs", label: "/ok p99", unit: "ms", better: "low" },
      { key: "processes", label: "processes that burn", unit: "", better: "high" },
    ],
    systems: withoutEdge,
    // After it the server has started its second worker.
    warmUps: 1,
    requests: 1,
    run: (system) => burn(system, isQuick ? 300 : 2000),
  },
]

interface Burnt {
  readonly pid: number
  readonly beganAt: number
  readonly endedAt: number
}

// Requests are sent at a steady pace without waiting for responses, like those of a load balancer.
const paceMs = 10

/** The machine's monotonic clock in milliseconds, which all processes share. */
const now = (): number => Number(process.hrtime.bigint()) / 1e6

async function burn(system: System, ms: number): Promise<Sample> {
  const { target } = system
  const threadIds = [await createThread(target), await createThread(target)]
  const probes: Promise<{ at: number; ms: number }>[] = []
  const over = new AbortController()
  const asking = ask()
  const burnt = await Promise.all(threadIds.map((threadId) => burnOn(system, threadId, ms))).finally(() => over.abort())
  await asking
  const [first, last] = [
    Math.min(...burnt.map(({ beganAt }) => beganAt)),
    Math.max(...burnt.map(({ endedAt }) => endedAt)),
  ]
  const answers = (await Promise.all(probes)).filter(({ at }) => at >= first && at <= last)
  const times = answers.map((answer) => answer.ms)
  return { okMs: percentile(times, 0.99), processes: new Set(burnt.map(({ pid }) => pid)).size }

  async function ask(): Promise<void> {
    while (!over.signal.aborted) {
      const at = now()
      const probe = timeCall(target, "GET", "/ok").then((answer) => ({ at, ms: answer.ms }))
      // It is awaited after the graphs, and a failure is reported then, so that the benchmark still cleans up.
      probe.catch(() => undefined)
      probes.push(probe)
      await sleep(paceMs)
    }
  }
}

async function burnOn({ target }: System, threadId: string, ms: number): Promise<Burnt> {
  const runId = await createRun(target, threadId, { assistant_id: "burn", input: { ms } })
  const { status } = await untilEnded(target, { threadId, runId })
  check(status === "success", `the burning run ended in ${status}`)
  const burnt = await stateOf<Burnt>(target, threadId)
  check(burnt.endedAt - burnt.beganAt >= ms, "the graph did not block its event loop")
  return burnt
}
