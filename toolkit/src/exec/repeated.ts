/** Work that is repeated. */
import { type Clock, pauseFor, realClock } from "../time/clock.js"

export interface Repeated {
  /** Runs the work now, or once more after the run under way. */
  wake(): void
  /** The same within a time, in milliseconds. Called by the work itself, it counts from the end of the run. */
  wakeWithin(ms: number): void
  /** Resolves when the work no longer runs. */
  stop(): Promise<void>
}

interface Options {
  /** The part of the interval that no wake-up shortens, in milliseconds. */
  readonly restMs?: number
  readonly clock?: Clock
}

/**
 * Runs `work` when woken and at intervals, never twice at once.
 * @param work     never throws
 * @param everyMs  from the end of one run to the start of the next, in milliseconds
 */
export function repeated(
  work: () => Promise<void>,
  everyMs: number,
  { restMs = 0, clock = realClock }: Options = {},
): Repeated {
  let running: Promise<void> | undefined
  let isRunning = false
  let isWoken = false
  let isStopping = false
  let cancelTimer = () => {}
  /** When the timer fires, by the clock. */
  let dueAt = 0
  /** How soon the run under way is to be repeated. */
  let nextMs = everyMs
  const stopping = new AbortController()

  const run = async () => {
    // The work may ask for its next run before `running` is assigned.
    isRunning = true
    do {
      isWoken = false
      nextMs = everyMs
      await work()
      if (restMs > 0) await pauseFor(clock, restMs, stopping.signal)
    } while (isWoken && !isStopping)
    isRunning = false
    running = undefined
    wakeAfter(nextMs)
  }
  const wakeAfter = (ms: number) => {
    cancelTimer()
    if (isStopping) return
    dueAt = clock.now() + ms
    cancelTimer = clock.after(ms, wake)
  }
  const wake = () => {
    isWoken = true
    if (isStopping) return
    cancelTimer()
    running ??= run()
  }
  const wakeWithin = (ms: number) => {
    if (isRunning) nextMs = Math.min(nextMs, ms)
    else if (clock.now() + ms < dueAt) wakeAfter(ms)
  }
  const stop = async () => {
    isStopping = true
    stopping.abort()
    cancelTimer()
    await running
  }
  return { wake, wakeWithin, stop }
}
