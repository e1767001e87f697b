/** Decides what becomes of a deployment's units after a switch. Pure. */
import type { UnitRow } from "./queries.js"

type UnitFacts = "unit_id" | "revision_id" | "state" | "crashes" | "worker_crashes" | "last_worker_crash" | "state_ms"

/**
 * How a revision's units are. `up`: all answer that they are ready, or sleep. `down`: one has ended or is not ready. `silent`:
 * one did not answer in time, as on a busy machine; if it hangs it is ended (reconcile-unit.ts), and is down then.
 */
export type Condition = "up" | "silent" | "down"

/** Pure. That of the worst. */
export const worstOf = (conditions: readonly Condition[]): Condition =>
  (["down", "silent"] as const).find((it) => conditions.includes(it)) ?? "up"

export interface DrainFacts {
  /** The deployment's units, newest first. */
  readonly units: readonly (Pick<UnitRow, UnitFacts> & {
    /** Nothing runs in it and nothing is open on it, or it has ended. */
    readonly isIdle: boolean
  })[]
  /** The revision that was deployed, and how long ago. */
  readonly revisionId: string
  readonly deployedMs: number
  /** The revision's units do not serve any more: whichever revision took over looks after the old units. */
  readonly isReplaced: boolean
  /** The revision was up when its watch ended: whatever happens later does not roll it back. */
  readonly isWatchOver: boolean
  readonly condition: Condition
}

export interface DrainLimits {
  readonly drainMs: number
  readonly watchMs: number
}

export type DrainDecision =
  /** `stop` names the units that may end now; `endsWatch`: the old units stand by no longer. */
  | { readonly kind: "done" | "wait"; readonly stop: readonly string[]; readonly endsWatch: boolean }
  /** `to` is a revision, `said` what happened. */
  | {
      readonly kind: "roll back"
      readonly to: string
      readonly code: "crash_loop" | "health_timeout"
      readonly said: string
    }

// One crash, of an agent server or of one of its workers, is an accident, the second within the watch is the revision's own (decisions, control plane 9).
const crashesThatRollBack = 2

/**
 * The units that served last stand by, even when they are idle, as long as the new ones are watched: for `watchMs`, and then
 * until these are up. New ones that are down after twice that time give way. All other units end as soon as nothing is left on
 * them, or when they have had their time.
 */
export function decideDrain(facts: DrainFacts, { drainMs, watchMs }: DrainLimits): DrainDecision {
  if (facts.isReplaced) return { kind: "done", stop: [], endsWatch: false }
  const draining = facts.units.filter(({ state }) => state === "draining")
  const standby = draining[0]?.revision_id
  const isAwaited = watchMs > 0 && facts.condition !== "up" && standby !== undefined
  const isWatched = !facts.isWatchOver && (facts.deployedMs < watchMs || isAwaited)
  if (isWatched && standby !== undefined) {
    const crashes = crashesOf(facts)
    if (crashes.total >= crashesThatRollBack)
      return { kind: "roll back", to: standby, code: "crash_loop", said: crashes.said }
    const silent = `the agent server took over and does not answer after ${(watchMs * 2) / 1000} s`
    if (facts.condition === "down" && facts.deployedMs >= watchMs * 2)
      return { kind: "roll back", to: standby, code: "health_timeout", said: silent }
  }
  const stop = draining
    .filter((unit) => unit.revision_id !== standby || !isWatched)
    .filter((unit) => unit.isIdle || unit.state_ms >= drainMs)
    .map(({ unit_id }) => unit_id)
  return { kind: isWatched || stop.length < draining.length ? "wait" : "done", stop, endsWatch: !isWatched }
}

function crashesOf({ units, revisionId }: DrainFacts): { total: number; said: string } {
  const ours = units.filter(({ revision_id }) => revision_id === revisionId)
  const ownCrashes = ours.reduce((sum, { crashes }) => sum + crashes, 0)
  const workerCrashes = ours.reduce((sum, { worker_crashes }) => sum + worker_crashes, 0)
  const last = ours.find(({ last_worker_crash }) => last_worker_crash !== null)?.last_worker_crash
  const sentences = [
    ...(ownCrashes > 0 ? [`the agent server ended ${times(ownCrashes)} after it took over`] : []),
    ...(workerCrashes > 0 ? [`its worker processes crashed ${times(workerCrashes)}, the last one with ${last}`] : []),
  ]
  return { total: ownCrashes + workerCrashes, said: sentences.join("; ") }
}

const times = (count: number): string => (count === 1 ? "once" : `${count} times`)
