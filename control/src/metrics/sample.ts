/** Defines the samples of units and traffic, and computes a chart from them. Pure. */
import { latencyBoundsMs, type Tally } from "@superstep/edge/tallies"
import { type ModelsUsed, type ModelTally, modelsUsed } from "./model-sample.js"
import { type Latency, latencyOf } from "./percentile.js"

export interface UnitSample {
  readonly deployment_id: string
  readonly unit_id: string
  readonly revision_id: string
  /** 1: one processor, fully used since the last sample. */
  readonly cpu_cores: number
  readonly rss_bytes: number
  readonly restarts: number
}

export interface TrafficSample {
  readonly deployment_id: string
  readonly replicas: number
  readonly requests: number
  readonly errors: number
  readonly latency_ms: number
  readonly latency_counts: readonly number[]
  readonly pending_runs: number | null
  readonly active_runs: number | null
  /** Null: no unit counted what its models used. */
  readonly models: ModelTally | null
}

/** Of the runs that ended since the sample before. */
export interface RunCounts {
  readonly ended: number
  readonly failed: number
}

export type At<Sample> = Sample & { readonly at: Date }

export const nothing: Tally = { requests: 0, errors: 0, latency_ms: 0, latency_counts: [] }

/** The answers between two readings; after a restart of the edge, since the restart. */
export function answeredSince(before: Tally | undefined, now: Tally | undefined = nothing): Tally {
  if (before === undefined || now.requests < before.requests) return now
  return {
    requests: now.requests - before.requests,
    errors: now.errors - before.errors,
    latency_ms: now.latency_ms - before.latency_ms,
    latency_counts: now.latency_counts.map((count, index) => count - (before.latency_counts[index] ?? 0)),
  }
}

/** What the edge answered, and what models used. */
export interface Activity extends ModelsUsed {
  readonly requests: number
  readonly errors: number
  readonly latency_ms: Latency
}

export interface ChartPoint extends Activity {
  readonly at: Date
  readonly replicas: number
  readonly cpu_cores: number
  readonly rss_bytes: number
  readonly restarts: number
  readonly ended_runs: number
  readonly failed_runs: number
  readonly pending_runs: number | null
  readonly active_runs: number | null
}

/**
 * Aggregates samples in steps: sums of counts, and the last value of states.
 * @param stepMs  the length of a step, in milliseconds
 */
export function chart(
  traffic: readonly At<TrafficSample>[],
  units: readonly At<UnitSample>[],
  runs: readonly At<RunCounts>[],
  stepMs: number,
): ChartPoint[] {
  const steps = new Map<number, { traffic: At<TrafficSample>[]; units: At<UnitSample>[]; runs: At<RunCounts>[] }>()
  const stepOf = (at: Date) => {
    const start = Math.floor(at.getTime() / stepMs) * stepMs
    const step = steps.get(start) ?? { traffic: [], units: [], runs: [] }
    steps.set(start, step)
    return step
  }
  for (const sample of traffic) stepOf(sample.at).traffic.push(sample)
  for (const sample of units) stepOf(sample.at).units.push(sample)
  for (const sample of runs) stepOf(sample.at).runs.push(sample)
  return [...steps].toSorted(([one], [other]) => one - other).map(([start, step]) => pointOf(new Date(start), step))
}

interface Step {
  readonly traffic: readonly At<TrafficSample>[]
  readonly units: readonly At<UnitSample>[]
  readonly runs: readonly At<RunCounts>[]
}

function pointOf(at: Date, { traffic, units, runs }: Step): ChartPoint {
  const last = traffic.at(-1)
  const lastAt = units.at(-1)?.at.getTime()
  const present = units.filter((unit) => unit.at.getTime() === lastAt)
  return {
    at,
    replicas: last?.replicas ?? present.length,
    cpu_cores: sumOf(present, (it) => it.cpu_cores),
    rss_bytes: sumOf(present, (it) => it.rss_bytes),
    restarts: sumOf(present, (it) => it.restarts),
    ...activityIn(traffic),
    ended_runs: sumOf(runs, (it) => it.ended),
    failed_runs: sumOf(runs, (it) => it.failed),
    pending_runs: last?.pending_runs ?? null,
    active_runs: last?.active_runs ?? null,
  }
}

/** Several samples together. */
export function activityIn(traffic: readonly TrafficSample[]): Activity {
  const requests = sumOf(traffic, (it) => it.requests)
  const counts = [...latencyBoundsMs, Infinity].map((_, index) => sumOf(traffic, (it) => it.latency_counts[index] ?? 0))
  return {
    requests,
    errors: sumOf(traffic, (it) => it.errors),
    latency_ms: latencyOf(
      sumOf(traffic, (it) => it.latency_ms),
      counts,
      latencyBoundsMs,
    ),
    ...modelsUsed(traffic.map(({ models }) => models)),
  }
}

const sumOf = <Item>(list: readonly Item[], of: (item: Item) => number): number =>
  list.reduce((total, item) => total + of(item), 0)
