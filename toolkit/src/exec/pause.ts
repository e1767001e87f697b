import { setTimeout as sleep } from "node:timers/promises"

/**
 * Waits for a time, which a signal cuts short: that is no error here.
 * @returns  false when it was cut short
 */
export const pause = (ms: number, signal: AbortSignal): Promise<boolean> =>
  sleep(ms, true, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
    return false
  })
