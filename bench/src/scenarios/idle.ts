/** What a machine full of agents that nobody calls costs. */
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import type { Options } from "../options.js"
import { cpuOf, processesOf } from "../process-usage.js"
import type { Cleanup } from "../processes.js"
import { agentRepository } from "../systems/agent-repository.js"
import { startPlatform } from "../systems/platform.js"
import type { Sample, Scenario } from "./scenario.js"

export const idleScenarios = ({ isQuick }: Options): Scenario[] => {
  const [deployments, seconds, settleSeconds] = isQuick ? [2, 5, 1] : [20, 60, 90]
  return [
    {
      name: `${deployments} sleeping deployments`,
      metrics: [
        { key: "cpu", label: "processor, of one core", unit: "%", better: "low" },
        { key: "postgresCpu", label: "of that, Postgres", unit: "%", better: "low" },
        { key: "processes", label: "processes", unit: "", better: "low" },
      ],
      systems: ["server"],
      warmUps: 0,
      requests: 1,
      mostRounds: 1,
      run: (_, cleanup) => sleepTogether(cleanup, { deployments, seconds, settleSeconds }),
    },
  ]
}

interface Sleep {
  readonly deployments: number
  readonly seconds: number
  /** What starting them left to do, such as writing a database's pages, is over by then. */
  readonly settleSeconds: number
}

/** All processes of an installation of its own: control plane, edge, units with their workers, Postgres. */
async function sleepTogether(cleanup: Cleanup, { deployments, seconds, settleSeconds }: Sleep): Promise<Sample> {
  const folder = join(temporaryFolder(), "installation")
  await mkdir(folder)
  const platform = await startPlatform(folder, { repository: agentRepository(folder).url }, cleanup)
  const ids: string[] = []
  for (let number = 1; number <= deployments; number++) ids.push(await platform.deploy(`sleeper-${number}`))
  for (const id of ids) await platform.untilDeployed(id)
  await sleep(settleSeconds * 1000, undefined, { ref: false })
  const all = await processesOf(platform.home)
  const [pids, postgres] = [all, all.filter(({ command }) => /postgres/.test(command))].map((some) =>
    some.map(({ pid }) => pid),
  ) as [number[], number[]]
  const [cpuBefore, postgresBefore, begin] = [await cpuOf(pids), await cpuOf(postgres), performance.now()]
  await sleep(seconds * 1000, undefined, { ref: false })
  const [cpuAfter, postgresAfter, durationMs] = [await cpuOf(pids), await cpuOf(postgres), performance.now() - begin]
  return {
    cpu: ((cpuAfter - cpuBefore) / durationMs) * 100,
    postgresCpu: ((postgresAfter - postgresBefore) / durationMs) * 100,
    processes: pids.length,
  }
}
