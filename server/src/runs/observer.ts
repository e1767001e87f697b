/** Who hears of executions beside their clients: metrics and traces. Nothing waits for them. */
import type { Claim } from "./run.js"

export interface RunObserver {
  /** An attempt begins on this server. */
  started(claim: Claim): ObservedRun
}

export interface ObservedRun {
  /** The graph has said something for the first time. */
  firstEvent(): void
  /** @param status  how the run ended; `released` when it did not, and goes on elsewhere or later */
  ended(status: string): void
}

/** Tells all of them, and of each end once: a fault behind an end that was told is not another end. */
export const observeWith = (observers: readonly RunObserver[]): RunObserver => ({
  started(claim) {
    const observed = observers.map((observer) => observer.started(claim))
    let isOver = false
    return {
      firstEvent: () => {
        for (const one of observed) one.firstEvent()
      },
      ended: (status) => {
        if (isOver) return
        isOver = true
        for (const one of observed) one.ended(status)
      },
    }
  },
})
