/** How long one attempt of a run may take (R10): first it is asked to stop, then nobody waits for it any more. */

// Long enough for a graph that puts its affairs in order when it is stopped; a client has waited for an hour already.
export const stopGraceMs = 10_000

// What a timer takes: 24 days.
const longestMs = 2 ** 31 - 1

export interface RunLimit {
  /** Whether the run was asked to stop because its time was over. */
  readonly isOver: boolean
  stop(): void
}

/**
 * @param timeoutMs  how long the attempt may take, in milliseconds; 0 for ever
 * @param onOver     called once when the time is over
 * @param onIgnored  called once when `graceMs` after that nobody has stopped the limit
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
