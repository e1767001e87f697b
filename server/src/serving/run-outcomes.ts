/** Counts how runs end on this server. The control plane compares revisions by it. */
import type { RunLatency, RunOutcomes } from "@superstep/protocol/unit/replies"
import { runLatencyBoundsMs, runLatencyClass } from "@superstep/protocol/unit/run-latency"
import type { RunObserver } from "../runs/observer.js"
import { isFailure } from "../runs/run.js"

export interface OutcomeReport {
  report(): RunOutcomes
  latency(): RunLatency
}

export function countOutcomes(): OutcomeReport & { readonly observer: RunObserver } {
  const outcomes = { ended: 0, failed: 0 }
  const counts = [0, ...runLatencyBoundsMs.map(() => 0)]
  let sumMs = 0
  const observer: RunObserver = {
    started: ({ attempt, waitedMs = 0 }) => {
      const startedAt = performance.now()
      return {
        firstEvent: () => {},
        ended: (status) => {
          // The run has not ended: it continues on another server or later.
          if (status === "released") return
          outcomes.ended++
          if (isFailure(status)) outcomes.failed++
          const ms = performance.now() - startedAt + (attempt === 1 ? waitedMs : 0)
          sumMs += ms
          const at = runLatencyClass(ms)
          counts[at] = (counts[at] ?? 0) + 1
        },
      }
    },
  }
  return { observer, report: () => ({ ...outcomes }), latency: () => ({ sum_ms: sumMs, counts: [...counts] }) }
}
