/**
 * Measures every ten seconds: processes of units, what the edge has answered, and runs. What it remembers between two
 * samples are counters' last readings; a restart costs one interval.
 */
import { type ProcessUsage, usageOfTrees } from "@superstep/toolkit/exec/process-usage"
import type { Tally } from "../edge/tallies.js"
import type { PipelineContext } from "../pipeline/context.js"
import { allUnits, type UnitRow } from "../pipeline/queries.js"
import { type Repeated, repeated } from "../pipeline/repeated.js"
import { unitAddress } from "../pipeline/unit.js"
import { askRuns } from "../runtimes/unit-client.js"
import { insertSamples } from "./queries.js"
import { answeredSince, nothing, type TrafficSample, type UnitSample } from "./sample.js"

const everyMs = 10_000

interface Reading {
  readonly atMs: number
  /** Processor seconds by process. */
  readonly cpu: ReadonlyMap<number, number>
  readonly answered: Readonly<Record<string, Tally>>
}

export function startSampler(context: PipelineContext): Repeated {
  let before: Reading | undefined
  const work = async () => {
    try {
      before = await sample(context, before)
    } catch (err) {
      context.log.warn({ err }, "units could not be measured; it is tried again")
    }
  }
  const sampler = repeated(work, everyMs)
  sampler.wake()
  return sampler
}

async function sample(context: PipelineContext, before: Reading | undefined): Promise<Reading> {
  const { db } = context
  const units = (await allUnits(db)).filter(({ state }) => state !== "stopping")
  const [trees, { deployments: answered }] = await Promise.all([treesOf(context, units), context.edge.status()])
  const reading = { atMs: performance.now(), cpu: cpuOf(trees.values()), answered }
  const unitSamples = units.flatMap((unit) => unitSample(unit, trees.get(unit.unit_id), reading, before))
  const traffic = await Promise.all(
    [...new Set([...units.map(({ deployment_id }) => deployment_id), ...Object.keys(answered)])].map((id) =>
      trafficSample(context, id, units, before ? answeredSince(before.answered[id], answered[id]) : nothing),
    ),
  )
  // One transaction: both carry its time.
  await db.transaction((tx) => insertSamples(tx, unitSamples, traffic))
  return reading
}

/** The processes of each unit that runs, by unit. */
async function treesOf({ runtime }: PipelineContext, units: readonly UnitRow[]) {
  const statuses = await Promise.all(
    units.map(async ({ unit_id }) => ({ unitId: unit_id, status: await runtime.status(unit_id) })),
  )
  const running = statuses.flatMap(({ unitId, status }) =>
    status.state === "running" ? [{ unitId, pid: status.pid }] : [],
  )
  const usage = await usageOfTrees(running.map(({ pid }) => pid))
  return new Map(running.map(({ unitId, pid }) => [unitId, usage.get(pid) ?? []]))
}

const cpuOf = (trees: Iterable<readonly ProcessUsage[]>): Map<number, number> =>
  new Map([...trees].flatMap((tree) => tree.map(({ pid, cpuSeconds }) => [pid, cpuSeconds] as const)))

function unitSample(
  unit: UnitRow,
  tree: readonly ProcessUsage[] | undefined,
  now: Reading,
  before: Reading | undefined,
): UnitSample[] {
  if (!tree || tree.length === 0) return []
  const seconds = before ? (now.atMs - before.atMs) / 1000 : 0
  // A process that is new has used what it used within the interval.
  const used = tree.reduce((sum, { pid, cpuSeconds }) => {
    const known = before?.cpu.get(pid) ?? 0
    return sum + (cpuSeconds >= known ? cpuSeconds - known : cpuSeconds)
  }, 0)
  return [
    {
      deployment_id: unit.deployment_id,
      unit_id: unit.unit_id,
      revision_id: unit.revision_id,
      cpu_cores: seconds > 0 ? used / seconds : 0,
      rss_bytes: tree.reduce((sum, { rssBytes }) => sum + rssBytes, 0),
      restarts: unit.crashes + unit.worker_crashes,
    },
  ]
}

async function trafficSample(
  context: PipelineContext,
  deploymentId: string,
  units: readonly UnitRow[],
  answered: Tally,
): Promise<TrafficSample> {
  const serving = units.filter((unit) => unit.deployment_id === deploymentId && unit.state === "serving")
  const [first] = serving
  const runs = first && (await askRuns(unitAddress(context, first)))
  return {
    deployment_id: deploymentId,
    replicas: serving.length,
    ...answered,
    pending_runs: runs?.pending ?? null,
    active_runs: runs?.active ?? null,
  }
}
