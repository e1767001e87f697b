/**
 * Sends a request to a unit that can be connected to.
 * E1 a request is sent at most once: only where connecting failed, so that nothing was sent, is another unit tried.
 * E2 a unit that is not in the table of the moment gets nothing.
 * E3 a request for a deployment that sleeps waits, in `holding.ts`, and wakes it; what anybody may send does neither.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { NotSent } from "@superstep/protocol/http/forward"
import type { OpenExchange, OpenKind } from "./counters.js"
import type { Edge } from "./edge.js"
import { pickUnit } from "./pick-unit.js"
import { noRoom, paused, type Refusal, unreachable } from "./refusal.js"
import type { Route, Unit } from "./table.js"

// A unit that crashed is back at its path within this time, as long as its graphs load quickly; longer would only pile
// up callers in front of a deployment that is down.
const patienceMs = 400
const pauseMs = 20

export interface Wanted {
  readonly route: Route
  readonly kind: OpenKind
  /** What anybody may send, such as a health check, neither wakes a deployment nor keeps it awake. */
  readonly isUse: boolean
  /** The caller has left. */
  readonly gone: AbortSignal
  /**
   * Sends the request to this unit, and resolves when nothing more of it is under way.
   * @throws NotSent  it cannot be connected to
   */
  readonly send: (unit: Unit, exchange: OpenExchange) => Promise<void>
}

/**
 * @returns why no unit got the request; `asleep` for what wakes nobody; undefined when one did, or the caller left
 */
export async function reachUnit(edge: Edge, wanted: Wanted): Promise<Refusal | "asleep" | undefined> {
  const { name } = wanted.route
  let deadline = performance.now() + patienceMs
  const tried = new Set<string>()
  while (!wanted.gone.aborted) {
    const route = routeNow(edge, wanted.route)
    if (route?.state === "paused") return paused(name)
    if (!wanted.isUse && (route?.state === "held" || route?.state === "full")) return "asleep"
    if (route?.state === "full") return noRoom(name)
    if (route?.state === "held") {
      const refusal = await edge.holding.wait(route, wanted.gone)
      if (refusal) return refusal
      deadline = performance.now() + patienceMs
      tried.clear()
      continue
    }
    const unit = pickAmong(edge, route ? [route.units, route.standby] : [], tried)
    if (unit) {
      if (await isSent(edge, unit, wanted)) return undefined
      tried.add(unit.unit_id)
      continue
    }
    if (performance.now() >= deadline) return unreachable(name)
    await sleep(pauseMs)
    tried.clear()
  }
  return undefined
}

/** A unit that was not tried yet; one that stands by only when all others were. */
function pickAmong(edge: Edge, ranks: readonly (readonly Unit[])[], tried: ReadonlySet<string>): Unit | undefined {
  for (const units of ranks) {
    const left = units.filter(({ unit_id }) => !tried.has(unit_id))
    const unit = pickUnit(left, edge.counters.openOn, Math.random)
    if (unit) return unit
  }
  return undefined
}

/**
 * The table may have been swapped while we waited. A name that meanwhile belongs to another deployment is not the one
 * that the caller's key was good for.
 */
function routeNow(edge: Edge, admitted: Route): Route | undefined {
  const route = edge.table.find(admitted.name)
  return route?.deployment_id === admitted.deployment_id ? route : undefined
}

/** @returns whether the unit got the request; nothing of it was sent otherwise */
async function isSent(edge: Edge, unit: Unit, { kind, isUse, gone, send }: Wanted): Promise<boolean> {
  const exchange = edge.counters.open(unit.unit_id, kind, { isUse })
  try {
    await send(unit, exchange)
    return true
  } catch (err) {
    if (!(err instanceof NotSent)) throw err
    if (!gone.aborted) edge.log.warn({ err, unit_id: unit.unit_id }, "unit not reached")
    return false
  } finally {
    exchange.close()
  }
}
