import { setTimeout as sleep } from "node:timers/promises"

/**
 * Waits for a time; an abort of the signal ends it early, without an error.
 * @returns  false when it was ended early
 */
export const pause = (ms: number, signal: AbortSignal): Promise<boolean> =>
  sleep(ms, true, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
    return false
  })
