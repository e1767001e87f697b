/** Background runs: many at once, and one on an idle server. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Options } from "../options.js"
import type { System } from "../systems/system.js"
import {
  check,
  createRun,
  createThread,
  getRun,
  inParallel,
  isFinal,
  type Sample,
  type Scenario,
  spending,
  stateOf,
  untilEnded,
  withoutEdge,
} from "./scenario.js"

export const queueScenarios = ({ isQuick }: Options): Scenario[] => {
  const count = isQuick ? 50 : 1000
  return [
    {
      name: `${count} queued runs of 50 ms`,
      metrics: [
        { key: "runsPerSecond", label: "runs", unit: "/s", better: "high" },
        { key: "cpuMs", label: "processor time of each", unit: "ms", better: "low" },
      ],
      systems: withoutEdge,
      warmUps: isQuick ? 0 : 1,
      requests: 1,
      maxRounds: 3,
      run: (system) => manyRuns(system, count),
    },
    {
      name: "pick-up by an idle server",
      metrics: [{ key: "pickUpMs", label: "create to node p50", unit: "ms", better: "low" }],
      systems: withoutEdge,
      warmUps: 5,
      requests: isQuick ? 5 : 30,
      run: pickUp,
    },
  ]
}

const clients = 32
const pollMs = 20

/** From the first create to the last end, by `updated_at`; at the same time one client requests the newest run every 20 ms. */
async function manyRuns(system: System, count: number): Promise<Sample> {
  const threadIds = await inParallel(clients, count, () => createThread(system.target))
  const { result: durationMs, cpuMs } = await spending(system, count, () => untilAllEnded(system, threadIds))
  return { runsPerSecond: (count / durationMs) * 1000, cpuMs }
}

/** @returns  how long that took, in milliseconds */
async function untilAllEnded({ target }: System, threadIds: readonly string[]): Promise<number> {
  const count = threadIds.length
  const begin = Date.now()
  const runs = await inParallel(clients, count, async (index) => {
    const threadId = threadIds[index] ?? ""
    return { threadId, runId: await createRun(target, threadId, { assistant_id: "work", input: { ms: 50 } }) }
  })
  const newest = runs.at(-1)
  while (newest && !isFinal(await getRun(target, newest.threadId, newest.runId))) await sleep(pollMs)
  const rows = await inParallel(clients, count, (index) =>
    untilEnded(target, runs[index] ?? { threadId: "", runId: "" }),
  )
  const failed = rows.filter(({ status }) => status !== "success")
  check(failed.length === 0, `${failed.length} runs ended in ${failed[0]?.status}`)
  const end = Math.max(...rows.map(({ updated_at }) => Date.parse(updated_at)))
  return end - begin
}

// Long enough for the last run's remaining writes.
const idleMs = 30

async function pickUp({ target }: System): Promise<Sample> {
  const threadId = await createThread(target)
  await sleep(idleMs)
  const begin = Number(process.hrtime.bigint()) / 1e6
  const runId = await createRun(target, threadId, { assistant_id: "work", input: { ms: 0 } })
  const { status } = await untilEnded(target, { threadId, runId })
  check(status === "success", `the run ended in ${status}`)
  const { beganAt } = await stateOf<{ beganAt: number }>(target, threadId)
  return { pickUpMs: beganAt - begin }
}
