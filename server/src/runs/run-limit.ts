/** The time limit of an attempt (R10): at the limit the run is asked to stop; after a grace period it is ended without its worker. */

// Long enough for a graph to clean up when it is stopped, and short compared to the time limit.
export const stopGraceMs = 10_000

// The longest time of a timer: 24 days.
const longestMs = 2 ** 31 - 1

export interface RunLimit {
  /** Whether the run was asked to stop because of the time limit. */
  readonly isOver: boolean
  stop(): void
}

/**
 * @param timeoutMs  how long the attempt may take, in milliseconds; 0: no limit
 * @param onOver     called once at the time limit
 * @param onIgnored  called once, `graceMs` milliseconds later, if `stop` was not called
 */
export function startRunLimit(options: {
  timeoutMs: number
  graceMs: number
  onOver: () => void
  onIgnored: () => void
}): RunLimit {
  const { timeoutMs, graceMs, onOver, onIgnored } = options
  let isOver = false
  let timer: NodeJS.Timeout | undefined
  const over = () => {
    isOver = true
    timer = setTimeout(onIgnored, graceMs)
    timer.unref()
    onOver()
  }
  if (timeoutMs > 0) {
    timer = setTimeout(over, Math.min(timeoutMs, longestMs))
    timer.unref()
  }
  return {
    get isOver() {
      return isOver
    },
    stop: () => clearTimeout(timer),
  }
}
