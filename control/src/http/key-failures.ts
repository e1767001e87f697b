/** Counts wrong keys by the address they came from. It slows attackers down and locks nobody out: the counts are in memory. */

const windowMs = 60_000
// Each is some hundred bytes; an attacker with more addresses than this must be stopped by other means.
const mostAddresses = 10_000

export interface KeyFailures {
  /** Counts one. @returns  how long the address should wait, in milliseconds; undefined while it is below the limit */
  count(address: string): number | undefined
}

/**
 * @param perMinute  how many wrong keys an address may try in a minute
 * @param nowMs      a clock
 */
export function keyFailures(perMinute: number, nowMs: () => number = () => performance.now()): KeyFailures {
  const windows = new Map<string, { failures: number; endsAt: number }>()
  const windowOf = (address: string) => {
    const known = windows.get(address)
    if (known && known.endsAt > nowMs()) return known
    const fresh = { failures: 0, endsAt: nowMs() + windowMs }
    windows.delete(address)
    windows.set(address, fresh)
    const [oldest] = windows.keys()
    if (windows.size > mostAddresses && oldest !== undefined) windows.delete(oldest)
    return fresh
  }
  const count = (address: string) => {
    const window = windowOf(address)
    window.failures += 1
    return window.failures > perMinute ? window.endsAt - nowMs() : undefined
  }
  return { count }
}
