/** Work that is repeated. */
import { pause } from "./pause.js"

export interface Repeated {
  /** Runs the work now, or once more after the run under way. */
  wake(): void
  /** The same within a time, in milliseconds. Called by the work itself, it counts from the end of the run. */
  wakeWithin(ms: number): void
  /** Resolves when the work no longer runs. */
  stop(): Promise<void>
}

/**
 * Runs `work` when woken and at intervals, never twice at once.
 * @param work     never throws
 * @param everyMs  from the end of one run to the start of the next, in milliseconds
 * @param restMs   the part of it that no wake-up shortens
 */
export function repeated(work: () => Promise<void>, everyMs: number, { restMs = 0 } = {}): Repeated {
  let running: Promise<void> | undefined
  let isRunning = false
  let isWoken = false
  let isStopping = false
  let timer: NodeJS.Timeout | undefined
  /** When the timer fires, by `performance.now()`. */
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
      if (restMs > 0) await pause(restMs, stopping.signal)
    } while (isWoken && !isStopping)
    isRunning = false
    running = undefined
    wakeAfter(nextMs)
  }
  const wakeAfter = (ms: number) => {
    clearTimeout(timer)
    if (isStopping) return
    dueAt = performance.now() + ms
    timer = setTimeout(wake, ms)
  }
  const wake = () => {
    isWoken = true
    if (isStopping) return
    clearTimeout(timer)
    running ??= run()
  }
  const wakeWithin = (ms: number) => {
    if (isRunning) nextMs = Math.min(nextMs, ms)
    else if (performance.now() + ms < dueAt) wakeAfter(ms)
  }
  const stop = async () => {
    isStopping = true
    stopping.abort()
    clearTimeout(timer)
    await running
  }
  return { wake, wakeWithin, stop }
}
