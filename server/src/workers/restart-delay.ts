/** When a worker that died is started again. Pure. */

const firstDelayMs = 100
const longestDelayMs = 10_000

// A worker that served so long was healthy: what killed it is no fault of its start.
const healthyAfterMs = 10_000

/**
 * The longer the more often a worker died without having been healthy. One that had a run to execute was healthy: graphs
 * that end their worker must not keep others waiting for it.
 * @param deaths    how many processes of this worker died in a row before this one, none of them healthy
 * @param servedMs  how long this one served before it died; 0 when it never did
 */
export function afterDeath(
  deaths: number,
  { servedMs, hadRuns }: { servedMs: number; hadRuns: boolean },
): { deaths: number; delayMs: number } {
  const before = hadRuns || servedMs >= healthyAfterMs ? 0 : deaths
  return { deaths: before + 1, delayMs: Math.min(firstDelayMs * 2 ** before, longestDelayMs) }
}
