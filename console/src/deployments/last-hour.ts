/** What the metrics of a deployment say about its last hour. Pure. */
import type { MetricsPoint } from "../platform/types.js"

export interface Bar {
  readonly at: string
  readonly good: number
  readonly errors: number
}

/** Requests in `count` equal parts of the time, oldest first. */
export function barsOf(points: readonly Pick<MetricsPoint, "at" | "requests" | "errors">[], count: number): Bar[] {
  const perBar = Math.max(1, Math.ceil(points.length / count))
  const bars: Bar[] = []
  for (let from = 0; from < points.length; from += perBar) {
    const part = points.slice(from, from + perBar)
    const sum = (value: (point: (typeof part)[number]) => number) => part.reduce((total, it) => total + value(it), 0)
    const errors = sum(({ errors }) => errors)
    bars.push({ at: part[0]?.at ?? "", errors, good: Math.max(0, sum(({ requests }) => requests) - errors) })
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
