/** Counts how runs end on this server. The control plane compares revisions by it. */
import type { RunLatency, RunOutcomes } from "@superstep/protocol/unit/replies"
import { runLatencyBoundsMs, runLatencyClass } from "@superstep/protocol/unit/run-latency"
import { mostMs, mostOfOne } from "../metrics/sum-limits.js"
import type { RunObserver } from "../runs/observer.js"
import { isFailure } from "../runs/run.js"

export interface OutcomeReport {
  report(): RunOutcomes
  latency(): RunLatency
}

export function countOutcomes(): OutcomeReport & { readonly observer: RunObserver } {
  const none = () => ({ ended: 0, failed: 0, sumMs: 0, counts: [0, ...runLatencyBoundsMs.map(() => 0)] })
  let sums = none()
  const observer: RunObserver = {
    started: ({ attempt, waitedMs = 0 }) => {
      const startedAt = performance.now()
      return {
        firstEvent: () => {},
        ended: (status) => {
          // The run has not ended: it continues on another server or later.
          if (status === "released") return
          const ms = performance.now() - startedAt + (attempt === 1 ? waitedMs : 0)
          if (sums.ended === mostOfOne || sums.sumMs + ms > mostMs) sums = none()
          sums.ended++
          if (isFailure(status)) sums.failed++
          sums.sumMs += ms
          const at = runLatencyClass(ms)
          sums.counts[at] = (sums.counts[at] ?? 0) + 1
        },
      }
    },
  }
  return {
    observer,
    report: () => ({ ended: sums.ended, failed: sums.failed }),
    latency: () => ({ sum_ms: sums.sumMs, counts: [...sums.counts] }),
  }
}
