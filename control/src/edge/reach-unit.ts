/**
 * Finds a unit that takes a request.
 * E1 a request is sent at most once: only where connecting failed, so that nothing was sent, is another unit tried.
 * E2 a unit that is not in the table of the moment gets nothing.
 * E3 a request for a deployment that sleeps waits, in `holding.ts`, and wakes it.
 */
import { type ClientRequest, request as httpRequest, type RequestOptions } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import type { OpenExchange, OpenKind } from "./counters.js"
import { type Edge, maxHeaderBytes } from "./edge.js"
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
  /** A health check does not keep a deployment from its sleep. */
  readonly isUse: boolean
  /** The request as this unit shall get it: its token is among the headers. */
  readonly head: (unit: Unit) => RequestOptions
  /** The caller has left. */
  readonly gone: AbortSignal
}

/** A connection to a unit over which nothing was sent yet. */
export interface Reached {
  readonly unit: Unit
  readonly request: ClientRequest
  readonly exchange: OpenExchange
}

/** @returns undefined when the caller left */
export async function reachUnit(edge: Edge, wanted: Wanted): Promise<Reached | { refusal: Refusal } | undefined> {
  const { name } = wanted.route
  let deadline = performance.now() + patienceMs
  const tried = new Set<string>()
  while (!wanted.gone.aborted) {
    const route = routeNow(edge, wanted.route)
    if (route?.state === "paused") return { refusal: paused(name) }
    if (route?.state === "full") return { refusal: noRoom(name) }
    if (route?.state === "held") {
      const refusal = await edge.holding.wait(route, wanted.gone)
      if (refusal) return { refusal }
      deadline = performance.now() + patienceMs
      tried.clear()
      continue
    }
    const unit = pickAmong(edge, route ? [route.units, route.standby] : [], tried)
    if (unit) {
      const reached = await connect(edge, unit, wanted)
      if (reached) return reached
      tried.add(unit.unit_id)
      continue
    }
    if (performance.now() >= deadline) return { refusal: unreachable(name) }
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

async function connect(edge: Edge, unit: Unit, { kind, isUse, head, gone }: Wanted): Promise<Reached | undefined> {
  const request = httpRequest({ socketPath: unit.socket_path, maxHeaderSize: maxHeaderBytes, ...head(unit) })
  const exchange = edge.counters.open(unit.unit_id, kind, { isUse })
  const leave = () => request.destroy()
  gone.addEventListener("abort", leave, { once: true })
  try {
    await connected(request)
    return { unit, request, exchange }
  } catch (err) {
    exchange.close()
    if (!gone.aborted) edge.log.warn({ err, unit_id: unit.unit_id }, "unit not reached")
    return undefined
  } finally {
    gone.removeEventListener("abort", leave)
  }
}

// Node sends a request's headers with its first write, so until then a failure is one of connecting.
function connected(request: ClientRequest): Promise<void> {
  return new Promise((resolve, reject) => {
    // Never taken off: an error before the next listener is there would end the process.
    request.once("error", reject)
    request.once("socket", (socket) => {
      if (socket.connecting) socket.once("connect", resolve)
      else resolve()
    })
  })
}
