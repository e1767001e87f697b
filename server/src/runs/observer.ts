/** Observers of executions: metrics and traces. No run waits for them. */
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

/** Notifies all observers. Each end is reported once: an error after a reported end is not another end. */
export const observeWith = (observers: readonly RunObserver[]): RunObserver => ({
  started(claim) {
    const observed = observers.map((observer) => observer.started(claim))
    let isOver = false
    return {
      firstEvent: () => {
        for (const one of observed) one.firstEvent()
      },
      spans: (part) => {
        for (const one of observed) one.spans?.(part)
      },
      ended: (status) => {
        if (isOver) return
        isOver = true
        for (const one of observed) one.ended(status)
      },
    }
  },
})
