/** Decides whether a revision that serves needs another unit, or one less (docs/decisions/0031). Pure. */
import type { RevisionFacts, UnitFacts } from "./facts.js"

export type Scaling =
  | { readonly does: "add"; readonly reason: string }
  | { readonly does: "take away"; readonly unit: UnitFacts }
  /** It needs all its units at this moment. */
  | { readonly does: "record load" }

// A run waits this long while a unit starts that has room, or another one ends.
const mostWaitMs = 2000
const busyLoop = 0.9
const calmLoop = 0.7
const fullest = 0.7
// Longer than a unit takes to be ready: only then is its effect seen.
const pauseMs = 10_000
const recordLoadMs = 10_000

/**
 * @param isRestarting  whether some of its units are to restart
 * @param scaleDownMs   for how long fewer units must have been enough before one is taken away
 */
export function scale(
  revision: RevisionFacts,
  { isRestarting, scaleDownMs }: { isRestarting: boolean; scaleDownMs: number },
): Scaling | undefined {
  const { units, min_units: least, max_units: most, scaled_ms, loaded_ms } = revision
  const staying = units.filter(({ leaving_ms }) => leaving_ms === null)
  // One for which there was no room is not waited for; nor is it asked for another one.
  const placed = staying.filter(({ connections }) => connections > 0)
  const loads = placed.flatMap(({ seen }) => (seen?.answer === "ready" && seen.report?.load ? [seen.report] : []))
  if (most === least && staying.length <= least) return undefined
  if (loads.length === 0 || loads.length < placed.length) return undefined
  const pausedMs = scaled_ms ?? Number.POSITIVE_INFINITY
  const waitedMs = Math.max(...loads.map(({ load }) => load?.waiting_ms ?? 0))
  const isBusy = loads.every(({ load }) => (load?.loop_utilization ?? 0) >= busyLoop)
  if ((waitedMs >= mostWaitMs || isBusy) && staying.length < most) {
    if (pausedMs < pauseMs || placed.length < staying.length) return undefined
    return {
      does: "add",
      reason: isBusy ? "the event loops of all units are busy" : `a run waited ${Math.round(waitedMs / 1000)} s`,
    }
  }
  if (staying.length <= least) return undefined
  // Replicas restart one after the other: the last one left would have nobody to take its requests meanwhile.
  if (isRestarting) return undefined
  const running = loads.reduce((sum, report) => sum + report.running_runs, 0)
  const free = loads.reduce((sum, { load }) => sum + (load?.free_slots ?? 0), 0)
  const capacity = ((running + free) * (placed.length - 1)) / placed.length
  const isBusyLoop = loads.some(({ load }) => (load?.loop_utilization ?? 0) > calmLoop)
  const isNeeded = placed.length === staying.length && (waitedMs > 0 || isBusyLoop || running > capacity * fullest)
  if (isNeeded) return (loaded_ms ?? Number.POSITIVE_INFINITY) >= recordLoadMs ? { does: "record load" } : undefined
  if ((loaded_ms ?? Number.POSITIVE_INFINITY) < scaleDownMs || pausedMs < scaleDownMs) return undefined
  const last = staying.reduce((a, b) => (isTakenFirst(b, a) ? b : a))
  return { does: "take away", unit: last }
}

/** One for which there was no room comes first, then the one that was added last. */
const isTakenFirst = (a: UnitFacts, b: UnitFacts): boolean =>
  a.connections > 0 === b.connections > 0 ? a.ordinal > b.ordinal : a.connections === 0
