/**
 * Takes samples every ten seconds: processes of units, answers of the edge, what models used, and runs by revision. Between two samples it
 * remembers only the last readings of counters; a restart costs one interval.
 */

import type { Tally } from "@superstep/edge/tallies"
import type { Usage } from "@superstep/machines/port/port"
import { askRuns } from "@superstep/machines/unit-client/unit-client"
import type { UnitReport } from "@superstep/machines/unit-client/unit-replies"
import { type Repeated, repeated } from "@superstep/toolkit/exec/repeated"
import type { PipelineContext } from "../planner/context.js"
import type { UnitRow } from "../planner/facts.js"
import { allUnits } from "../planner/queries.js"
import { unitAddress } from "../planner/unit.js"
import { type ModelTally, modelsSince, noModels, sumOfModels } from "./model-sample.js"
import { insertSamples } from "./queries.js"
import { byRevision, noRuns, type RunSample, type RunTally, runsSince, sumOfRuns } from "./run-sample.js"
import { answeredSince, nothing, type TrafficSample, type UnitSample } from "./sample.js"

const everyMs = 10_000

interface Reading {
  readonly atMs: number
  /** Processor seconds by process of a unit. */
  readonly cpu: ReadonlyMap<string, number>
  readonly answered: Readonly<Record<string, Tally>>
  /** By unit. One that did not answer keeps its former tally; undefined: it has none. */
  readonly runs: ReadonlyMap<string, RunTally | undefined>
  /** The same of models; one whose runs are not traced has none either. */
  readonly models: ReadonlyMap<string, ModelTally | undefined>
}

/** Runs since the control plane started, by revision, for Prometheus. */
export type RunTotals = Map<string, RunSample>

export interface SamplerOptions {
  /** What a unit reported last; undefined while it does not answer. */
  readonly reportOf: (unitId: string) => UnitReport | undefined
  /** The sampler counts here. */
  readonly runTotals: RunTotals
}

export function startSampler(context: PipelineContext, options: SamplerOptions): Repeated {
  let before: Reading | undefined
  const work = async () => {
    before =
      (await context.failures.attempt("the measuring of units", {}, () => sample(context, options, before))) ?? before
  }
  const sampler = repeated(work, everyMs)
  sampler.wake()
  return sampler
}

async function sample(
  context: PipelineContext,
  { reportOf, runTotals }: SamplerOptions,
  before: Reading | undefined,
): Promise<Reading> {
  const { db } = context
  const units = await allUnits(db)
  const [usage, { deployments: answered }] = await Promise.all([
    context.machine.units.usage(units.filter(mayRun).map(({ unit_id }) => unit_id)),
    context.edge.status(),
  ])
  const reading = {
    atMs: performance.now(),
    cpu: cpuOf(usage),
    answered,
    runs: tallies({ reportOf, running: usage, units }, { before: before?.runs, none: noRuns, read: runsIn }),
    models: tallies({ reportOf, running: usage, units }, { before: before?.models, none: noModels, read: modelsIn }),
  }
  const running = units.filter(({ unit_id }) => usage.has(unit_id))
  const runSamples = before ? byRevision(units.flatMap((unit) => runSample(unit, reading, before))) : []
  const unitSamples = units.flatMap((unit) => unitSample(unit, usage.get(unit.unit_id), reading, before))
  const traffic = await Promise.all(
    [...new Set([...units.map(({ deployment_id }) => deployment_id), ...Object.keys(answered)])].map((id) =>
      trafficSample(context, id, units, {
        ...(before ? answeredSince(before.answered[id], answered[id]) : nothing),
        models: before
          ? modelsOf(
              running.filter((unit) => unit.deployment_id === id),
              reading,
              before,
            )
          : null,
      }),
    ),
  )
  // One transaction, so that both have its time.
  await db.transaction((tx) => insertSamples(tx, { units: unitSamples, traffic, runs: runSamples }))
  addTotals(runTotals, units, runSamples)
  return reading
}

const processOf = (unitId: string, { key }: Usage): string => `${unitId} ${key}`

interface Reports extends Pick<SamplerOptions, "reportOf"> {
  readonly running: ReadonlyMap<string, unknown>
  readonly units: readonly UnitRow[]
}

interface Counters<Tally> {
  readonly before: ReadonlyMap<string, Tally | undefined> | undefined
  readonly none: Tally
  readonly read: (report: UnitReport) => Tally | undefined
}

/** What units reported; those that do not run have counted nothing. */
const tallies = <Tally>(
  { reportOf, running, units }: Reports,
  { before, none, read }: Counters<Tally>,
): Map<string, Tally | undefined> =>
  new Map(
    units.map(({ unit_id }) => {
      if (!running.has(unit_id)) return [unit_id, none]
      const report = reportOf(unit_id)
      return [unit_id, report ? read(report) : before?.get(unit_id)]
    }),
  )

const runsIn = ({ runs: { ended, failed }, run_latency: latency }: UnitReport): RunTally => ({
  ended,
  failed,
  latency_ms: latency?.sum_ms ?? 0,
  latency_counts: latency?.counts ?? [],
})

/** What models used, by the report of a unit; undefined: it does not count it. */
export const modelsIn = ({ model_use: used }: UnitReport): ModelTally | undefined =>
  used
    ? {
        input_tokens: used.input_tokens,
        output_tokens: used.output_tokens,
        first_token_ms: used.first_token.sum_ms,
        first_token_counts: used.first_token.counts,
      }
    : undefined

/** Of the units that count; null if none does. */
function modelsOf(units: readonly UnitRow[], now: Reading, before: Reading): ModelTally | null {
  const used = units.flatMap(({ unit_id }) => {
    const tally = now.models.get(unit_id)
    const former = before.models.has(unit_id) ? before.models.get(unit_id) : noModels
    return tally && former ? [modelsSince(former, tally)] : []
  })
  return used.length === 0 ? null : sumOfModels(used)
}

/** A unit that is new since the last sample has all its runs since then. */
function runSample({ unit_id, deployment_id, revision_id }: UnitRow, now: Reading, before: Reading): RunSample[] {
  const tally = now.runs.get(unit_id)
  const former = before.runs.has(unit_id) ? before.runs.get(unit_id) : noRuns
  return tally && former ? [{ deployment_id, revision_id, ...runsSince(former, tally) }] : []
}

/** Revisions without units are forgotten: a Prometheus that has read them knows their last values. */
function addTotals(totals: RunTotals, units: readonly UnitRow[], samples: readonly RunSample[]): void {
  const present = new Set(units.map(({ revision_id }) => revision_id))
  for (const id of totals.keys()) if (!present.has(id)) totals.delete(id)
  for (const sample of samples) {
    const known = totals.get(sample.revision_id)
    totals.set(sample.revision_id, { ...sample, ...sumOfRuns(known ? [known, sample] : [sample]) })
  }
}
/** One without connections is stopped, as in a deployment that sleeps. */
const mayRun = ({ connections }: UnitRow): boolean => connections > 0

const cpuOf = (usage: ReadonlyMap<string, readonly Usage[]>): Map<string, number> =>
  new Map([...usage].flatMap(([unitId, all]) => all.map((it) => [processOf(unitId, it), it.cpuSeconds] as const)))

function unitSample(
  unit: UnitRow,
  usage: readonly Usage[] | undefined,
  now: Reading,
  before: Reading | undefined,
): UnitSample[] {
  if (!usage || usage.length === 0) return []
  const seconds = before ? (now.atMs - before.atMs) / 1000 : 0
  // A new process has used all of its processor time within the interval.
  const used = usage.reduce((sum, it) => {
    const known = before?.cpu.get(processOf(unit.unit_id, it)) ?? 0
    return sum + (it.cpuSeconds >= known ? it.cpuSeconds - known : it.cpuSeconds)
  }, 0)
  return [
    {
      deployment_id: unit.deployment_id,
      unit_id: unit.unit_id,
      revision_id: unit.revision_id,
      cpu_cores: seconds > 0 ? used / seconds : 0,
      rss_bytes: usage.reduce((sum, { rssBytes }) => sum + rssBytes, 0),
      restarts: unit.crashes + unit.worker_crashes,
    },
  ]
}

async function trafficSample(
  context: PipelineContext,
  deploymentId: string,
  units: readonly UnitRow[],
  counted: Tally & Pick<TrafficSample, "models">,
): Promise<TrafficSample> {
  const serving = units.filter((unit) => unit.deployment_id === deploymentId && unit.role === "serving")
  const first = serving.find(mayRun)
  const runs =
    first &&
    (await context.failures.attempt("the count of runs", { deployment_id: deploymentId }, () =>
      askRuns(unitAddress(context, first)),
    ))
  return {
    deployment_id: deploymentId,
    replicas: serving.length,
    ...counted,
    pending_runs: runs?.pending ?? null,
    active_runs: runs?.active ?? null,
  }
}
