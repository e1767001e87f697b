/**
 * Decides how soon a deployment must be planned again when nothing about it changes. Pure. The plan is a function of the facts, so it can be
 * asked what it would do later: nobody has to list the times at which its rules apply (docs/decisions/0033).
 */
import type { DeploymentFacts, RevisionFacts, UnitFacts } from "./facts.js"
import { plan } from "./plan.js"
import type { PlanLimits } from "./plan-unit.js"

/** Every deployment is planned at least so often. */
export const safetyMs = 10_000

/** Whether something may be due before `safetyMs` have passed. */
export function isDueSoon(deployment: DeploymentFacts, limits: PlanLimits): boolean {
  if (deployment.is_worked_on || deployment.revisions.some(waitsForTraffic)) return true
  return plan(deployment, limits).length > 0 || plan(after(deployment, safetyMs), limits).length > 0
}

/** Of what the edge has open on a unit, no change is reported: it is asked. */
const waitsForTraffic = ({ role, units }: RevisionFacts): boolean =>
  units.some(
    ({ seen, leaving_ms }) =>
      leaving_ms !== null || role === "retiring" || (role === "pinned" && seen?.process === "running"),
  )

/** The facts as they are when so many milliseconds have passed, and nothing else has happened. */
export function after(deployment: DeploymentFacts, ms: number): DeploymentFacts {
  return {
    ...deployment,
    wake_in_ms: sooner(deployment.wake_in_ms, ms),
    revisions: deployment.revisions.map(
      (revision): RevisionFacts => ({
        ...revision,
        settled_ms: later(revision.settled_ms, ms),
        retire_in_ms: sooner(revision.retire_in_ms, ms),
        scaled_ms: later(revision.scaled_ms, ms),
        loaded_ms: later(revision.loaded_ms, ms),
        pinned_ms: later(revision.pinned_ms, ms),
        pins: revision.pins && { ...revision.pins, quiet_ms: revision.pins.quiet_ms + ms },
        units: revision.units.map((unit) => unitAfter(unit, ms)),
      }),
    ),
  }
}

function unitAfter(unit: UnitFacts, ms: number): UnitFacts {
  const { traffic, start_in_ms } = unit
  return {
    ...unit,
    up_ms: unit.up_ms + ms,
    idle_ms: unit.idle_ms + ms,
    leaving_ms: later(unit.leaving_ms, ms),
    start_in_ms: start_in_ms - ms,
    may_start: unit.may_start || start_in_ms <= ms,
    traffic: traffic && { ...traffic, idle_ms: traffic.open > 0 ? traffic.idle_ms : traffic.idle_ms + ms },
  }
}

const later = (sinceMs: number | null, ms: number) => (sinceMs === null ? null : sinceMs + ms)
const sooner = (untilMs: number | null, ms: number) => (untilMs === null ? null : untilMs - ms)
