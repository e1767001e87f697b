/**
 * Counts what was answered for each deployment of the table since the edge started: requests, errors, and how long answers
 * took to begin.
 */

/** Upper bounds of the latency's classes, in milliseconds; what is above the last is a class of its own. */
export const latencyBoundsMs = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000] as const

export interface Tally {
  readonly requests: number
  /** Answers with a status of 500 and above, the edge's own among them. */
  readonly errors: number
  /** From the arrival of requests to the begin of their answers, all together. */
  readonly latency_ms: number
  /** How many were in each class. */
  readonly latency_counts: readonly number[]
}

export interface Tallies {
  /** A request has arrived. @returns what to call when its answer begins; only the first call counts */
  begin(deploymentId: string): (status: number) => void
  /** By deployment. */
  snapshot(): Record<string, Tally>
  /** Forgets all others; what is under way for them counts no more. */
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
