/** When a worker that died is restarted. Pure. */

const firstDelayMs = 100
const longestDelayMs = 10_000

// A worker that served this long was healthy: its start was not the cause of its death.
const healthyAfterMs = 10_000

/**
 * The delay grows with each death in a row without a healthy process. A process that had executed a run was healthy: a graph
 * that kills its worker must not make other runs wait for it.
 * @param deaths    how many unhealthy processes of this worker died in a row before this one
 * @param servedMs  how long this process served before it died; 0 when it never served
 */
export function afterDeath(
  deaths: number,
  { servedMs, hadRuns }: { servedMs: number; hadRuns: boolean },
): { deaths: number; delayMs: number } {
  const before = hadRuns || servedMs >= healthyAfterMs ? 0 : deaths
  return { deaths: before + 1, delayMs: Math.min(firstDelayMs * 2 ** before, longestDelayMs) }
}
