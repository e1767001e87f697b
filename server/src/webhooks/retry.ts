/** When a delivery that failed is tried again. Pure. */

const second = 1000
const minute = 60 * second
const hour = 60 * minute

// Soon after a hiccup, then ever more rarely: a receiver that is repaired within half a day hears of everything.
const delaysMs = [5 * second, 30 * second, 2 * minute, 10 * minute, 30 * minute, hour, 2 * hour, 4 * hour, 6 * hour]

// A receiver that comes back is not called by everybody at once.
const jitter = 0.2

/**
 * How long to wait after a failed try.
 * @param tries   how many were made, from 1
 * @param random  from 0 to 1
 * @returns       milliseconds; undefined when it was tried often enough
 */
export function retryDelayMs(tries: number, random: number): number | undefined {
  const delay = delaysMs[tries - 1]
  return delay === undefined ? undefined : Math.round(delay * (1 - jitter + 2 * jitter * random))
}

// It says that nobody will ever take it there (RFC 9110, 15.5.11).
const gone = 410

export const isDelivered = (status: number): boolean => status >= 200 && status < 300
export const isHopeless = (status: number | undefined): boolean => status === gone
