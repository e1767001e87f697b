/** What the metrics of a deployment say about its last hour. Pure. */
import type { MetricsPoint } from "../platform/types.js"

const hourMs = 3_600_000

export interface Bar {
  readonly good: number
  readonly errors: number
}

/**
 * Requests in `count` equal parts of the last hour, oldest first; parts without a point are empty.
 * @param now  the end of the hour, in milliseconds since 1970
 */
export function barsOf(
  points: readonly Pick<MetricsPoint, "at" | "requests" | "errors">[],
  count: number,
  now: number,
): Bar[] {
  const bars = Array.from({ length: count }, () => ({ good: 0, errors: 0 }))
  for (const { at, requests, errors } of points) {
    const index = Math.floor(((Date.parse(at) - now + hourMs) / hourMs) * count)
    // A point that began just before the hour, and the clock of another machine.
    const bar = bars[Math.min(count - 1, Math.max(0, index))]
    if (!bar) continue
    bar.errors += errors
    bar.good += Math.max(0, requests - errors)
  }
  return bars
}

/** From the newest point that was measured: the last one may still be empty. */
export function runsNow(points: readonly Pick<MetricsPoint, "active_runs" | "pending_runs">[]) {
  const newest = points.findLast(({ active_runs, pending_runs }) => active_runs !== null || pending_runs !== null)
  return { running: newest?.active_runs ?? null, waiting: newest?.pending_runs ?? null }
}

/** The same as a sentence, for those who do not see the chart. */
export function sentenceOf(bars: readonly Bar[]): string {
  const errors = bars.reduce((total, bar) => total + bar.errors, 0)
  const requests = bars.reduce((total, bar) => total + bar.errors + bar.good, 0)
  if (requests === 0) return "no requests"
  return `${requests} ${requests === 1 ? "request" : "requests"}, ${errors} ${errors === 1 ? "error" : "errors"}`
}
