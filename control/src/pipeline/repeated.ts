/** Work that is done again and again. */
import { pause } from "@superstep/toolkit/exec/pause"

export interface Repeated {
  /** Does it now, or once more when it is being done. */
  wake(): void
  /** Returns when it is not being done any more. */
  stop(): Promise<void>
}

/**
 * Runs `work` when it is woken and then every so often, never twice at once.
 * @param work     never throws
 * @param everyMs  from the end of one time to the beginning of the next, in milliseconds
 * @param restMs   of these, how many nobody's wake shortens
 */
export function repeated(work: () => Promise<void>, everyMs: number, { restMs = 0 } = {}): Repeated {
  let running: Promise<void> | undefined
  let isWoken = false
  let isStopping = false
  let timer: NodeJS.Timeout | undefined
  const stopping = new AbortController()

  const run = async () => {
    do {
      isWoken = false
      await work()
      if (restMs > 0) await pause(restMs, stopping.signal)
    } while (isWoken && !isStopping)
    running = undefined
    if (!isStopping) timer = setTimeout(wake, everyMs)
  }
  const wake = () => {
    isWoken = true
    if (isStopping) return
    clearTimeout(timer)
    running ??= run()
  }
  const stop = async () => {
    isStopping = true
    stopping.abort()
    clearTimeout(timer)
    await running
  }
  return { wake, stop }
}
