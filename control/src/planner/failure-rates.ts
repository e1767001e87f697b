/** Decides whether a canary's runs fail more often than those of the revision that serves. Pure. */

export interface RunCounts {
  readonly ended: number
  readonly failed: number
}

// The counts are compared about once a second, and each comparison is another chance to be wrong.
const mostChance = 0.0001
// The work grows with the counts, which code of a deployment can make its unit report. A share of so many runs is as exact as it need be.
const mostRuns = 1_000_000

/**
 * Fisher's exact test, one-sided: if both revisions failed equally often, how likely is it that at least so many of the failures fall on the
 * canary? The answer is yes when that is less likely than one in ten thousand.
 * @param minRuns  yes only once the canary has ended so many runs
 */
export function failsMoreOften(ofCanary: RunCounts, ofBase: RunCounts, minRuns: number): boolean {
  if (ofCanary.ended < minRuns || ofBase.ended === 0) return false
  const [canary, base] = [bounded(ofCanary), bounded(ofBase)]
  if (canary.failed * base.ended <= base.failed * canary.ended) return false
  return chanceOfAtLeast(canary, base) < mostChance
}

/** At most `mostRuns`, of which at most all failed. */
function bounded({ ended, failed }: RunCounts): RunCounts {
  const share = Math.min(1, mostRuns / ended)
  return { ended: Math.round(ended * share), failed: Math.round(Math.min(failed, ended) * share) }
}

/** The upper tail of the hypergeometric distribution. */
function chanceOfAtLeast(canary: RunCounts, base: RunCounts): number {
  const failed = canary.failed + base.failed
  const ended = canary.ended + base.ended
  const all = logChoose(ended, failed)
  let chance = 0
  for (let onCanary = canary.failed; onCanary <= Math.min(canary.ended, failed); onCanary++) {
    const term = Math.exp(logChoose(canary.ended, onCanary) + logChoose(base.ended, failed - onCanary) - all)
    chance += term
    // Terms only get smaller from here on, as the canary has more than its share already.
    if (term < mostChance * 1e-6) break
  }
  return chance
}

const logChoose = (n: number, k: number): number => logFactorial(n) - logFactorial(k) - logFactorial(n - k)

/** Ramanujan's approximation, exact to more digits than are used here; 0! and 1! are 1. */
function logFactorial(n: number): number {
  if (n < 2) return 0
  return n * Math.log(n) - n + Math.log(n * (1 + 4 * n * (1 + 2 * n))) / 6 + Math.log(Math.PI) / 2
}
