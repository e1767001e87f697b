/**
 * Sums of what several edges count. Each counts since it started, and they come and go: without what the former ones have counted, the sum
 * would fall, and its reader would take that for a new start.
 */
import type { Tally } from "../../edge/tallies.js"

type Tallies = Readonly<Record<string, Tally>>

/** @returns  takes the reports of those edges that answered, and the names of all that exist; gives sums that only rise */
export function runningSums(): (reports: ReadonlyMap<string, Tallies>, present: ReadonlySet<string>) => Tallies {
  /** Of edges that are gone, or have started again. */
  const former = new Map<string, Tally>()
  const last = new Map<string, Tallies>()
  const keep = (deploymentId: string, tally: Tally) => former.set(deploymentId, sum(former.get(deploymentId), tally))
  return (reports, present) => {
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
    // A deployment that no edge reports is deleted.
    for (const [id, tally] of former) {
      const present = sums[id]
      if (present) sums[id] = sum(present, tally)
      else if (last.size > 0) former.delete(id)
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
