/** What the metrics of a deployment say. Pure. */
import type { Counted } from "../frame/bars.js"
import type { MetricsPoint } from "./types.js"

type Requests = Pick<MetricsPoint, "at" | "requests" | "errors">
type Runs = Pick<MetricsPoint, "at" | "ended_runs" | "failed_runs">

export const requestsOf = (points: readonly Requests[]): Counted[] =>
  points.map(({ at, requests, errors }) => ({ at, all: requests, bad: errors }))

export const runsOf = (points: readonly Runs[]): Counted[] =>
  points.map(({ at, ended_runs, failed_runs }) => ({ at, all: ended_runs, bad: failed_runs }))

/** From the newest point that was measured: the last one may still be empty. */
export function runsNow(points: readonly Pick<MetricsPoint, "active_runs" | "pending_runs">[]) {
  const newest = points.findLast(({ active_runs, pending_runs }) => active_runs !== null || pending_runs !== null)
  return { running: newest?.active_runs ?? null, waiting: newest?.pending_runs ?? null }
}
