/** Statistics of samples. Pure. */

/** The value below which a share of the samples lies, by the nearest rank. @param share  from 0 to 1 */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b)
  const rank = Math.max(1, Math.ceil(share * sorted.length))
  return sorted[rank - 1] ?? Number.NaN
}

export const median = (samples: readonly number[]): number => percentile(samples, 0.5)
