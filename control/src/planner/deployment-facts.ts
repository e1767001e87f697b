/** Joins what the tables say of a deployment with what the observers and the edge saw. */
import type { EdgeState } from "@superstep/edge/port"
import type { DeploymentFacts, RevisionFacts, Traffic, UnitFacts } from "./facts.js"
import type { Observer } from "./observer.js"
import type { PinObserver } from "./pin-observer.js"
import type { PlannedRow } from "./queries.js"

export interface Seen {
  readonly observer: Pick<Observer, "seen">
  readonly pins: Pick<PinObserver, "seen">
  /** Undefined while the edge does not say. */
  readonly edge: EdgeState["units"] | undefined
}

const nothingOpen: Traffic = { open: 0, idle_ms: 0 }

export function factsOf(rows: readonly PlannedRow[], { observer, pins, edge }: Seen): DeploymentFacts {
  const [first] = rows as [PlannedRow, ...PlannedRow[]]
  const traffic = (unitId: string): Traffic | undefined => {
    if (!edge) return undefined
    const it = edge[unitId]
    return it ? { open: it.requests + it.streams + it.websockets, idle_ms: it.idle_ms } : nothingOpen
  }
  const units = rows.map(
    (row): UnitFacts => ({ ...row, seen: observer.seen(row.unit_id), traffic: traffic(row.unit_id) }),
  )
  const revisions = [...new Set(rows.map(({ revision_id }) => revision_id))].map((id): RevisionFacts => {
    const ofRevision = rows.find(({ revision_id }) => revision_id === id) ?? first
    return {
      revision_id: id,
      role: ofRevision.role,
      is_settled: ofRevision.is_settled,
      is_deploying: ofRevision.is_deploying,
      weight: ofRevision.weight,
      settled_ms: ofRevision.settled_ms,
      min_units: ofRevision.min_units,
      max_units: ofRevision.max_units,
      scaled_ms: ofRevision.scaled_ms,
      loaded_ms: ofRevision.loaded_ms,
      retire_in_ms: ofRevision.retire_in_ms,
      pinned_ms: ofRevision.pinned_ms,
      pins: pins.seen(id),
      units: units.filter(({ revision_id }) => revision_id === id),
    }
  })
  return { ...first, may_sleep: rows.some(({ role, may_sleep }) => role === "serving" && may_sleep), revisions }
}
