/** When a delivery that failed is tried again, and whether it is worth it. Pure. */

// A receiver that comes back is not called by everybody at once.
const jitter = 0.2

/**
 * How long to wait after a failed try.
 * @param delaysMs  how long to wait after the first, the second … try, in milliseconds
 * @param tries     how many were made, from 1
 * @param random    from 0 to 1; the wait is that much shorter or longer, by a fifth at most
 * @returns         milliseconds; undefined when it was tried often enough
 */
export function retryDelayMs(delaysMs: readonly number[], tries: number, random: number): number | undefined {
  const delay = delaysMs[tries - 1]
  return delay === undefined ? undefined : Math.round(delay * (1 - jitter + 2 * jitter * random))
}

// It says that nobody will ever take it there (RFC 9110, 15.5.11).
const gone = 410

export const isDelivered = (status: number): boolean => status >= 200 && status < 300
export const isHopeless = (status: number | undefined): boolean => status === gone
