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
  /** The revision's units do not serve any more: whichever revision took over looks after the old units. */
  readonly isReplaced: boolean
}

export interface DrainLimits {
  readonly drainMs: number
  readonly watchMs: number
}

export type DrainDecision =
  /** `stop` names the units that may end now. */
  | { readonly kind: "done" | "wait"; readonly stop: readonly string[] }
  /** `to` is a revision. */
  | { readonly kind: "roll back"; readonly to: string }

// One crash is an accident, the second within the watch is the revision's own (decisions, control plane 9).
const crashesThatRollBack = 2

/**
 * The units that served last stand by, even when they are idle, as long as the new ones are watched. All others end as
 * soon as nothing is left on them, or when they have had their time.
 */
export function decideDrain(facts: DrainFacts, { drainMs, watchMs }: DrainLimits): DrainDecision {
  if (facts.isReplaced) return { kind: "done", stop: [] }
  const isWatched = facts.deployedMs < watchMs
  const draining = facts.units.filter(({ state }) => state === "draining")
  const standby = draining[0]?.revision_id
  const own = facts.units.filter(({ revision_id }) => revision_id === facts.revisionId)
  const crashes = own.reduce((sum, unit) => sum + unit.crashes, 0)
  if (isWatched && standby !== undefined && crashes >= crashesThatRollBack) return { kind: "roll back", to: standby }
  const stop = draining
    .filter((unit) => unit.revision_id !== standby || !isWatched)
    .filter((unit) => unit.isIdle || unit.state_ms >= drainMs)
    .map(({ unit_id }) => unit_id)
  return { kind: isWatched || stop.length < draining.length ? "wait" : "done", stop }
}
