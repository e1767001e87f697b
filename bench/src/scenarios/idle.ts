/** The cost of many deployments without requests. */
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import type { Options } from "../options.js"
import { cpuOf, processesOf } from "../process-usage.js"
import type { Cleanup } from "../processes.js"
import { agentRepository } from "../systems/agent-repository.js"
import { startPlatform } from "../systems/platform.js"
import type { Sample, Scenario } from "./scenario.js"

const isUnit = /superstep-unit-/
// Long, because stopping the old unit of a switch takes time, more so on a busy machine.
const sleepMs = 300_000

export const idleScenarios = ({ isQuick }: Options): Scenario[] => {
  const [deployments, seconds, settleSeconds] = isQuick ? [2, 5, 1] : [20, 120, 60]
  const scenario = (name: string, maySleep: boolean): Scenario => ({
    name: `${deployments} ${name} deployments`,
    metrics: [
      { key: "cpu", label: "processor, of one core", unit: "%", better: "low" },
      { key: "postgresCpu", label: "of that, Postgres", unit: "%", better: "low" },
      { key: "controlCpu", label: "of that, the control plane", unit: "%", better: "low" },
      { key: "edgeCpu", label: "of that, the edge", unit: "%", better: "low" },
      { key: "processes", label: "processes", unit: "", better: "low" },
    ],
    systems: ["server"],
    warmUps: 0,
    requests: 1,
    maxRounds: 1,
    run: (_, cleanup) => restTogether(cleanup, { deployments, maySleep, seconds, settleSeconds }),
  })
  // An idle deployment has a server and workers, a sleeping one has no process.
  return [scenario("idle", false), scenario("sleeping", true)]
}

interface Rest {
  readonly deployments: number
  readonly maySleep: boolean
  readonly seconds: number
  /** Time for background work after the start, such as writing database pages. */
  readonly settleSeconds: number
}

/** Measures all processes of a separate installation: control plane, edge, units with their workers, Postgres. */
async function restTogether(
  cleanup: Cleanup,
  { deployments, maySleep, seconds, settleSeconds }: Rest,
): Promise<Sample> {
  const folder = join(temporaryFolder(), "installation")
  await mkdir(folder)
  const settings: Record<string, string> = maySleep ? { SUPERSTEP_IDLE_MINUTES: "0.5" } : {}
  const platform = await startPlatform(folder, { repository: agentRepository(folder).url, settings }, cleanup)
  const ids: string[] = []
  for (let number = 1; number <= deployments; number++) {
    ids.push(await platform.deploy(`sleeper-${number}`, { maySleep }))
  }
  for (const id of ids) await platform.untilDeployed(id)
  const isAsleep = async () => (await processesOf(platform.home)).every(({ command }) => !isUnit.test(command))
  if (maySleep) await until(isAsleep, { what: "all sleep", timeoutMs: sleepMs })
  await sleep(settleSeconds * 1000, undefined, { ref: false })
  const all = await processesOf(platform.home)
  const groups = [/^/, /postgres/, /^superstep (control plane|machine)/, /^superstep edge/].map((pattern) =>
    all.filter(({ command }) => pattern.test(command)).map(({ pid }) => pid),
  )
  const usage = () => Promise.all(groups.map(cpuOf))
  const [before, begin] = [await usage(), performance.now()]
  await sleep(seconds * 1000, undefined, { ref: false })
  const [after, durationMs] = [await usage(), performance.now() - begin]
  const share = (index: number) => (((after[index] ?? 0) - (before[index] ?? 0)) / durationMs) * 100
  return {
    cpu: share(0),
    postgresCpu: share(1),
    controlCpu: share(2),
    edgeCpu: share(3),
    processes: all.length,
  }
}
