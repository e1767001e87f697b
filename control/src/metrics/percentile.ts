/** What counts by classes of time say of the times. Pure. */

/** Null where nothing was measured. */
export interface Latency {
  readonly average: number | null
  readonly p50: number | null
  readonly p95: number | null
}

/**
 * @param sumMs     the sum of the times
 * @param counts    how many there are in each class
 * @param boundsMs  upper bounds of the classes; above the last there is one more class
 */
export function latencyOf(sumMs: number, counts: readonly number[], boundsMs: readonly number[]): Latency {
  const total = counts.reduce((sum, count) => sum + count, 0)
  return {
    average: total === 0 ? null : sumMs / total,
    p50: percentileMs(counts, 0.5, boundsMs),
    p95: percentileMs(counts, 0.95, boundsMs),
  }
}

/** The latency below which a share of the answers stayed: the upper bound of its class; null without any answer. */
export function percentileMs(counts: readonly number[], share: number, boundsMs: readonly number[]): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let seen = 0
  const index = counts.findIndex((count) => {
    seen += count
    return seen >= total * share
  })
  return boundsMs[index] ?? boundsMs.at(-1) ?? null
}
