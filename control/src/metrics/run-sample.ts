/** Defines how runs of a revision ended, and how long they took. Pure. */
import { runLatencyBoundsMs } from "@superstep/protocol/unit/run-latency"
import { type Latency, latencyOf } from "./percentile.js"

export interface RunTally {
  readonly ended: number
  readonly failed: number
  /** Sum over these runs of the time from when they could start to their end. */
  readonly latency_ms: number
  /** By the classes of protocol/unit. */
  readonly latency_counts: readonly number[]
}

export interface RunSample extends RunTally {
  readonly deployment_id: string
  readonly revision_id: string
}

export const noRuns: RunTally = { ended: 0, failed: 0, latency_ms: 0, latency_counts: [] }

/** The runs between two reports of a unit; after its restart, since the restart: otherwise no count becomes less. */
export function runsSince(before: RunTally, now: RunTally): RunTally {
  const counts = now.latency_counts.map((count, index) => count - (before.latency_counts[index] ?? 0))
  const since = {
    ended: now.ended - before.ended,
    failed: now.failed - before.failed,
    latency_ms: now.latency_ms - before.latency_ms,
    latency_counts: counts,
  }
  const hasRestarted = [since.ended, since.failed, since.latency_ms, ...counts].some((it) => it < 0)
  return hasRestarted ? now : since
}

export function sumOfRuns(tallies: readonly RunTally[]): RunTally {
  return tallies.reduce(
    (sum, it) => ({
      ended: sum.ended + it.ended,
      failed: sum.failed + it.failed,
      latency_ms: sum.latency_ms + it.latency_ms,
      latency_counts: [...runLatencyBoundsMs, Infinity].map(
        (_, index) => (sum.latency_counts[index] ?? 0) + (it.latency_counts[index] ?? 0),
      ),
    }),
    noRuns,
  )
}

/** Adds up samples by revision; those without a run are left out. */
export function byRevision(samples: readonly RunSample[]): RunSample[] {
  const groups = new Map<string, RunSample[]>()
  for (const sample of samples) groups.set(sample.revision_id, [...(groups.get(sample.revision_id) ?? []), sample])
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    const sum = sumOfRuns(group)
    if (!first || sum.ended === 0) return []
    return { deployment_id: first.deployment_id, revision_id: first.revision_id, ...sum }
  })
}

export interface RevisionRuns {
  readonly revision_id: string
  readonly ended: number
  readonly failed: number
  /** Share of the runs that failed, 0 to 1. */
  readonly error_rate: number
  /** Null where only units of an older release executed runs, which do not measure it. */
  readonly latency_ms: Latency
}

export const measured = ({ latency_counts }: RunTally): number => latency_counts.reduce((sum, count) => sum + count, 0)

/** @param it  at least one run ended */
export const describeRuns = (it: RunSample): RevisionRuns => ({
  revision_id: it.revision_id,
  ended: it.ended,
  failed: it.failed,
  error_rate: it.failed / it.ended,
  latency_ms: latencyOf(it.latency_ms, it.latency_counts, runLatencyBoundsMs),
})
