/**
 * Sums of what several edges count. Each counts since it started, and they come and go: without what the former ones have counted, the sum
 * would fall, and its reader would take that for a new start.
 */
import type { Tally } from "@superstep/edge/tallies"

type Tallies = Readonly<Record<string, Tally>>

/** What is known of the edges when their counts are added. */
export interface EdgesNow {
  /** Of the edges that answered. */
  readonly reports: ReadonlyMap<string, Tallies>
  /** The names of all edges that exist. */
  readonly present: ReadonlySet<string>
  /** The deployments of the table that edges are sent. Undefined: no table was sent yet. */
  readonly deploymentIds: ReadonlySet<string> | undefined
}

/** @returns  gives sums that only rise, until the table has the deployment no more */
export function runningSums(): (now: EdgesNow) => Tallies {
  /** Of edges that are gone, or have started again. */
  const former = new Map<string, Tally>()
  const last = new Map<string, Tallies>()
  const keep = (deploymentId: string, tally: Tally) => former.set(deploymentId, sum(former.get(deploymentId), tally))
  return ({ reports, present, deploymentIds }) => {
    for (const [name, tallies] of last) {
      if (present.has(name)) continue
      for (const [id, tally] of Object.entries(tallies)) keep(id, tally)
      last.delete(name)
    }
    for (const [name, tallies] of reports) {
      for (const [id, before] of Object.entries(last.get(name) ?? {})) {
        if ((tallies[id]?.requests ?? 0) < before.requests) keep(id, before)
      }
      last.set(name, tallies)
    }
    const sums: Record<string, Tally> = {}
    for (const [id, tally] of [...last.values()].flatMap((it) => Object.entries(it))) sums[id] = sum(sums[id], tally)
    for (const [id, tally] of former) {
      if (deploymentIds?.has(id) === false) former.delete(id)
      else sums[id] = sum(sums[id], tally)
    }
    return sums
  }
}

/** Pure. */
const sum = (one: Tally | undefined, other: Tally): Tally =>
  one === undefined
    ? other
    : {
        requests: one.requests + other.requests,
        errors: one.errors + other.errors,
        latency_ms: one.latency_ms + other.latency_ms,
        latency_counts: one.latency_counts.map((count, index) => count + (other.latency_counts[index] ?? 0)),
      }
