/**
 * Counts the answers for each deployment of the table since the edge started: requests, errors, and the time until each
 * answer started.
 */

/** Upper bounds of the latency classes, in milliseconds; above the last there is one more class. */
export const latencyBoundsMs = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000] as const

export interface Tally {
  readonly requests: number
  /** Answers with a status of 500 and above, including the edge's own. */
  readonly errors: number
  /** Sum over all requests of the time from arrival to the start of the answer. */
  readonly latency_ms: number
  /** The number of requests in each class. */
  readonly latency_counts: readonly number[]
}

export interface Tallies {
  /** Counts a request that has arrived. @returns  to be called when its answer starts; only the first call counts */
  begin(deploymentId: string): (status: number) => void
  /** By deployment. */
  snapshot(): Record<string, Tally>
  /** Forgets all other deployments; requests under way for them are no longer counted. */
  keepOnly(deploymentIds: ReadonlySet<string>): void
}

interface OpenTally {
  requests: number
  errors: number
  latency_ms: number
  latency_counts: number[]
}

export function createTallies(): Tallies {
  const tallies = new Map<string, OpenTally>()
  const of = (deploymentId: string): OpenTally => {
    const known = tallies.get(deploymentId)
    if (known) return known
    const fresh = { requests: 0, errors: 0, latency_ms: 0, latency_counts: [0, ...latencyBoundsMs.map(() => 0)] }
    tallies.set(deploymentId, fresh)
    return fresh
  }
  const begin = (deploymentId: string) => {
    const tally = of(deploymentId)
    const startedAt = performance.now()
    let isCounted = false
    return (status: number) => {
      if (isCounted) return
      isCounted = true
      const ms = performance.now() - startedAt
      tally.requests += 1
      if (status >= 500) tally.errors += 1
      tally.latency_ms += ms
      const above = latencyBoundsMs.findIndex((bound) => ms <= bound)
      const at = above < 0 ? latencyBoundsMs.length : above
      tally.latency_counts[at] = (tally.latency_counts[at] ?? 0) + 1
    }
  }
  const keepOnly = (deploymentIds: ReadonlySet<string>) => {
    for (const id of tallies.keys()) if (!deploymentIds.has(id)) tallies.delete(id)
  }
  return { begin, snapshot: () => Object.fromEntries(tallies), keepOnly }
}
