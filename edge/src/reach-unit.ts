/**
 * Sends a request to a unit that can be connected to.
 * E1 a request is sent at most once: another unit is tried only when connecting failed, so that nothing was sent.
 * E2 a unit that is not in the current table gets nothing.
 * E3 a request for a sleeping deployment waits in `holding.ts` and wakes it; health checks and preflights do neither.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { NotSent } from "@superstep/protocol/http/forward"
import type { OpenExchange, OpenKind } from "./counters.js"
import type { Edge } from "./edge.js"
import { pickUnit } from "./pick-unit.js"
import { noRoom, paused, type Refusal, unreachable } from "./refusal.js"
import type { Route, Unit } from "./table.js"

// A crashed unit is back at its path within this time if its graphs load quickly. Waiting longer would only pile up callers in
// front of a deployment that is down.
const patienceMs = 400
const pauseMs = 20

export interface Wanted {
  readonly route: Route
  readonly kind: OpenKind
  readonly threadId: string | undefined
  /** False for what anybody may send, such as a health check: it neither wakes a deployment nor keeps it awake. */
  readonly isUse: boolean
  /** Aborted when the caller has left. */
  readonly gone: AbortSignal
  /**
   * Sends the request to this unit, and resolves when nothing more of it is under way.
   * @throws NotSent  the unit cannot be connected to
   */
  readonly send: (unit: Unit, exchange: OpenExchange) => Promise<void>
}

/**
 * @returns  why no unit got the request; `asleep` when it needs a wake-up but may not cause one; undefined when a unit got it,
 *           or the caller left
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
    const unit = pickAmong(edge, route ? [route.units, route.standby] : [], { tried, threadId: wanted.threadId })
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

/** A unit that was not tried yet; a standby unit only when all others were tried. */
function pickAmong(
  edge: Edge,
  ranks: readonly (readonly Unit[])[],
  { tried, threadId }: { readonly tried: ReadonlySet<string>; readonly threadId: string | undefined },
): Unit | undefined {
  for (const units of ranks) {
    const left = units.filter(({ unit_id }) => !tried.has(unit_id))
    const unit = pickUnit(left, { openOn: edge.counters.openOn, random: Math.random, threadId })
    if (unit) return unit
  }
  return undefined
}

/**
 * The table may have been swapped while we waited. If the name now belongs to another deployment, the caller's key was not
 * checked against that one.
 */
function routeNow(edge: Edge, admitted: Route): Route | undefined {
  const route = edge.table.find(admitted.name)
  return route?.deployment_id === admitted.deployment_id ? route : undefined
}

/** @returns  whether the unit got the request; if not, nothing of it was sent */
async function isSent(edge: Edge, unit: Unit, { kind, isUse, gone, send }: Wanted): Promise<boolean> {
  const exchange = edge.counters.open(unit.unit_id, kind, { isUse })
  try {
    await send(unit, exchange)
    return true
  } catch (err) {
    if (!(err instanceof NotSent)) throw err
    if (!gone.aborted) edge.log.warn({ err, unit_id: unit.unit_id }, "unit could not be reached")
    return false
  } finally {
    exchange.close()
  }
}
