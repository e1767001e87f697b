/** Decides what becomes of a deployment's units after a switch. Pure. */
import type { UnitRow } from "./queries.js"

export interface DrainFacts {
  /** The deployment's units, newest first. */
  readonly units: readonly (Pick<UnitRow, "unit_id" | "revision_id" | "state" | "crashes" | "state_ms"> & {
    /** Nothing runs in it and nothing is open on it, or it has ended. */
    readonly isIdle: boolean
  })[]
  /** The revision that was deployed, and how long ago. */
  readonly revisionId: string
  readonly deployedMs: number
  /** The revision's unit does not serve any more: whichever revision took over looks after the old units. */
  readonly isReplaced: boolean
}

export interface DrainLimits {
  readonly drainMs: number
  readonly watchMs: number
}

export type DrainDecision =
  /** `stop` names the units that may end now. */
  | { readonly kind: "done" | "wait"; readonly stop: readonly string[] }
  | { readonly kind: "roll back"; readonly to: string }

// One crash is an accident, the second within the watch is the revision's own (decisions, control plane 9).
const crashesThatRollBack = 2

/**
 * The unit that served last stands by, even when it is idle, as long as the new one is watched. All others end as
 * soon as nothing is left on them, or when they have had their time.
 */
export function decideDrain(facts: DrainFacts, { drainMs, watchMs }: DrainLimits): DrainDecision {
  if (facts.isReplaced) return { kind: "done", stop: [] }
  const isWatched = facts.deployedMs < watchMs
  const draining = facts.units.filter(({ state }) => state === "draining")
  const standby = draining[0]
  const own = facts.units.find(({ revision_id }) => revision_id === facts.revisionId)
  if (isWatched && standby && own && own.crashes >= crashesThatRollBack)
    return { kind: "roll back", to: standby.unit_id }
  const stop = draining
    .filter((unit) => unit !== standby || !isWatched)
    .filter((unit) => unit.isIdle || unit.state_ms >= drainMs)
    .map(({ unit_id }) => unit_id)
  return { kind: isWatched || stop.length < draining.length ? "wait" : "done", stop }
}
