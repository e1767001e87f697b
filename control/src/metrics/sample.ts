/** Defines the samples of units and traffic, and computes a chart from them. Pure. */
import { latencyBoundsMs, type Tally } from "@superstep/edge/tallies"

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

/** The latency below which a share of the answers stayed: the upper bound of its class; null without any answer. */
export function percentileMs(
  counts: readonly number[],
  share: number,
  boundsMs: readonly number[] = latencyBoundsMs,
): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let seen = 0
  const index = counts.findIndex((count) => {
    seen += count
    return seen >= total * share
  })
  return boundsMs[index] ?? boundsMs.at(-1) ?? null
}

export interface ChartPoint {
  readonly at: Date
  readonly replicas: number
  readonly cpu_cores: number
  readonly rss_bytes: number
  readonly restarts: number
  readonly requests: number
  readonly errors: number
  readonly latency_ms: { readonly average: number | null; readonly p50: number | null; readonly p95: number | null }
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
  stepMs: number,
): ChartPoint[] {
  const steps = new Map<number, { traffic: At<TrafficSample>[]; units: At<UnitSample>[] }>()
  const stepOf = (at: Date) => {
    const start = Math.floor(at.getTime() / stepMs) * stepMs
    const step = steps.get(start) ?? { traffic: [], units: [] }
    steps.set(start, step)
    return step
  }
  for (const sample of traffic) stepOf(sample.at).traffic.push(sample)
  for (const sample of units) stepOf(sample.at).units.push(sample)
  return [...steps]
    .toSorted(([one], [other]) => one - other)
    .map(([start, step]) => pointOf(new Date(start), step.traffic, step.units))
}

function pointOf(at: Date, traffic: readonly At<TrafficSample>[], units: readonly At<UnitSample>[]): ChartPoint {
  const last = traffic.at(-1)
  const lastAt = units.at(-1)?.at.getTime()
  const present = units.filter((unit) => unit.at.getTime() === lastAt)
  const sum = <T>(list: readonly T[], of: (it: T) => number) => list.reduce((total, it) => total + of(it), 0)
  const requests = sum(traffic, (it) => it.requests)
  const counts = [...latencyBoundsMs, Infinity].map((_, index) => sum(traffic, (it) => it.latency_counts[index] ?? 0))
  return {
    at,
    replicas: last?.replicas ?? present.length,
    cpu_cores: sum(present, (it) => it.cpu_cores),
    rss_bytes: sum(present, (it) => it.rss_bytes),
    restarts: sum(present, (it) => it.restarts),
    requests,
    errors: sum(traffic, (it) => it.errors),
    latency_ms: {
      average: requests === 0 ? null : sum(traffic, (it) => it.latency_ms) / requests,
      p50: percentileMs(counts, 0.5),
      p95: percentileMs(counts, 0.95),
    },
    pending_runs: last?.pending_runs ?? null,
    active_runs: last?.active_runs ?? null,
  }
}
