/** What the metrics of a deployment say. Pure. */

import { durationText } from "../frame/time-text.js"
import type { Counted } from "../tables/bars.js"
import type { Activity, Latency, MetricsPoint } from "./types.js"

type Requests = Pick<MetricsPoint, "at" | "requests" | "errors">
type Runs = Pick<MetricsPoint, "at" | "ended_runs" | "failed_runs">

export const requestsOf = (points: readonly Requests[]): Counted[] =>
  points.map(({ at, requests, errors }) => ({ at, all: requests, bad: errors }))

export const runsOf = (points: readonly Runs[]): Counted[] =>
  points.map(({ at, ended_runs, failed_runs }) => ({ at, all: ended_runs, bad: failed_runs }))

export const tokensOf = (points: readonly Pick<MetricsPoint, "at" | "tokens">[]): Counted[] =>
  points.map(({ at, tokens }) => ({ at, all: (tokens?.input ?? 0) + (tokens?.output ?? 0), bad: 0 }))

const notCounted = "not counted: traces are off, or no replica ran"

/** Such as `1,500 input, 120 output`. */
export function tokensText({ tokens }: Pick<Activity, "tokens">): string {
  if (tokens === null) return notCounted
  const { input, output } = tokens
  if (input + output === 0) return "no model reported tokens in this time"
  return `${input.toLocaleString("en")} input, ${output.toLocaleString("en")} output`
}

export function firstTokenText({
  tokens,
  first_token_ms: latency,
}: Pick<Activity, "tokens" | "first_token_ms">): string {
  if (latency.p50 !== null) return latencyText(latency)
  return tokens === null ? notCounted : "no model streamed in this time"
}

/** The upper bounds of classes of time, so they are said as such. */
export const latencyText = ({ p50, p95 }: Latency): string =>
  p50 === null || p95 === null
    ? "none in this time"
    : `half within ${durationText(p50)}, 95 % within ${durationText(p95)}`

/** From the newest point that was measured: the last one may still be empty. */
export function runsNow(points: readonly Pick<MetricsPoint, "active_runs" | "pending_runs">[]) {
  const newest = points.findLast(({ active_runs, pending_runs }) => active_runs !== null || pending_runs !== null)
  return { running: newest?.active_runs ?? null, waiting: newest?.pending_runs ?? null }
}
