/**
 * The one way to the time for code whose timers matter: it is given a clock, and asks nothing else what time it is or to be called later.
 * So a simulation can run it for hours of its own time (docs/decisions/0074-planner-runs-in-simulated-time.md). Times of one clock compare
 * with each other alone; the database has its own (`superstep_now()`).
 */

export interface Clock {
  /** Milliseconds since a moment of the clock's own; never goes back. */
  now(): number
  /**
   * Calls `work` once, when so many milliseconds have passed.
   * @returns  a function that cancels the call; it may be called at any time, and again
   */
  after(ms: number, work: () => void): () => void
}

/** The time of this computer. */
export const realClock: Clock = {
  now: () => performance.now(),
  after: (ms, work) => {
    const timer = setTimeout(work, ms)
    return () => clearTimeout(timer)
  },
}

/**
 * Waits for a time; an abort of the signal ends it early, without an error.
 * @returns  false when it was ended early
 */
export function pauseFor(clock: Clock, ms: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve(false)
    const end = (isOver: boolean) => {
      cancel()
      signal?.removeEventListener("abort", abort)
      resolve(isOver)
    }
    const abort = () => end(false)
    const cancel = clock.after(ms, () => end(true))
    signal?.addEventListener("abort", abort)
  })
}

/** The same, but an abort of the signal is an error. @throws the reason of the signal */
export async function sleepFor(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (!(await pauseFor(clock, ms, signal))) throw signal.reason
}

/** A limit for work, which is to be disposed of when the work has ended: `using limit = timeLimit(…)`. */
export interface TimeLimit extends Disposable {
  /** Aborted when the time is over; its reason then has the name `TimeoutError`, as that of `AbortSignal.timeout`. */
  readonly signal: AbortSignal
}

/** @param ms  how long the work may take, in milliseconds */
export function timeLimit(clock: Clock, ms: number): TimeLimit {
  const aborter = new AbortController()
  const cancel = clock.after(ms, () => aborter.abort(new DOMException(`no end within ${ms} ms`, "TimeoutError")))
  return { signal: aborter.signal, [Symbol.dispose]: cancel }
}
