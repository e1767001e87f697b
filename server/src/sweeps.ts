/** Work that is due now and then: what is old is removed, in steps that are over soon. */
import type { Log } from "@superstep/toolkit/log/log"

export interface Sweep {
  /** What is removed, for the log: `ended runs`. */
  readonly what: string
  readonly everyMs: number
  /** Removes a bounded part. @returns whether there is more */
  step(): Promise<boolean>
}

// What a timer can wait.
const mostMs = 2 ** 31 - 1

/**
 * A sweep that fails is told and tried again when the next one is due. One begins when the one before is over.
 * @returns a function that stops it, and waits for a step that is under way
 */
export function startSweep({ what, everyMs, step }: Sweep, log: Log): () => Promise<void> {
  let isStopped = false
  let sweeping: Promise<void> | undefined
  const sweep = async () => {
    try {
      while (!isStopped && (await step()));
    } catch (err) {
      log.warn({ err, what }, "what is old could not be removed")
    }
    sweeping = undefined
  }
  const timer = setInterval(
    () => {
      sweeping ??= sweep()
    },
    Math.min(everyMs, mostMs),
  )
  timer.unref()
  return async () => {
    isStopped = true
    clearInterval(timer)
    await sweeping
  }
}
