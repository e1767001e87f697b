/** Observers of executions: metrics and traces. No run waits for them. */
import type { Log } from "@superstep/toolkit/log/log"
import type { TracePart } from "../workers/port.js"
import type { Claim } from "./run.js"

export interface RunObserver {
  /** Called when an attempt starts on this server. */
  started(claim: Claim): ObservedRun
}

export interface ObservedRun {
  /** Called at the graph's first event. */
  firstEvent(): void
  /** Called with each part of the run's trace, if its worker records one; before `ended`. */
  spans?(part: TracePart): void
  /** @param status  how the run ended; `released` when it did not end, and goes on elsewhere or later */
  ended(status: string): void
}

/**
 * Notifies all observers. Each end is reported once: an error after a reported end is not another end. An observer that throws is logged,
 * and neither the run nor the other observers notice.
 */
export function observeWith(observers: readonly RunObserver[], log: Log): RunObserver {
  const guarded = <Result>(runId: string, notify: () => Result): Result | undefined => {
    try {
      return notify()
    } catch (err) {
      log.error({ err, run_id: runId }, "an observer of a run failed")
      return undefined
    }
  }
  return {
    started(claim) {
      const { runId } = claim
      const observed = observers.flatMap((observer) => guarded(runId, () => observer.started(claim)) ?? [])
      const each = (notify: (one: ObservedRun) => void) => {
        for (const one of observed) guarded(runId, () => notify(one))
      }
      let isOver = false
      return {
        firstEvent: () => each((one) => one.firstEvent()),
        spans: (part) => each((one) => one.spans?.(part)),
        ended: (status) => {
          if (isOver) return
          isOver = true
          each((one) => one.ended(status))
        },
      }
    },
  }
}
