/** Periodic deletion of old rows, in short steps. */
import type { Log } from "../log/log.js"

export interface Sweep {
  /** The kind of rows, for the log, such as `ended runs`. */
  readonly what: string
  readonly everyMs: number
  /** Deletes a limited number of rows. @returns whether there are more */
  step(): Promise<boolean>
}

// The longest delay of a timer.
const maxDelayMs = 2 ** 31 - 1

/**
 * Starts a sweep. A failed sweep is logged and retried when the next one is due. Sweeps do not overlap.
 * @returns a function that stops the sweep and waits for its current step
 */
export function startSweep({ what, everyMs, step }: Sweep, log: Log): () => Promise<void> {
  let isStopped = false
  let sweeping: Promise<void> | undefined
  const sweep = async () => {
    try {
      while (!isStopped && (await step()));
    } catch (err) {
      log.warn({ err, what }, "old rows could not be deleted")
    }
    sweeping = undefined
  }
  const timer = setInterval(
    () => {
      sweeping ??= sweep()
    },
    Math.min(everyMs, maxDelayMs),
  )
  timer.unref()
  return async () => {
    isStopped = true
    clearInterval(timer)
    await sweeping
  }
}
