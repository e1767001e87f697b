/**
 * Owns the kept-alive connections to units: one pool for each address, closed when its unit has left the table and
 * is idle.
 */
import type { Address } from "@superstep/protocol/http/address"
import { keptConnections } from "@superstep/protocol/http/forward"
import type { Unit } from "./table.js"

// A unit closes a connection after 75 s or more without a request (toolkit/http/keep-alive.ts). We close it well before, so that
// no request meets a connection that its unit is closing.
const idleMs = 30_000

type Connections = ReturnType<typeof keptConnections>

export interface UnitConnections {
  to(unit: Unit): Connections
  /** Closes the idle connections to all other units; requests under way on those go on. */
  keepOnly(units: readonly Unit[]): void
  /** Closes all connections. */
  destroy(): void
}

/** @param maxHeaderBytes  largest size of all headers of an answer, in bytes */
export function createUnitConnections({ maxHeaderBytes }: { maxHeaderBytes: number }): UnitConnections {
  const pools = new Map<Address, Connections>()

  const to = ({ address }: Unit): Connections => {
    const known = pools.get(address)
    if (known) return known
    const pool = keptConnections(address, { maxHeaderBytes, idleMs })
    pools.set(address, pool)
    return pool
  }

  const keepOnly = (units: readonly Unit[]): void => {
    const wanted = new Set(units.map(({ address }) => address))
    for (const [address, pool] of pools) {
      if (wanted.has(address)) continue
      pools.delete(address)
      void pool.close()
    }
  }

  const destroy = (): void => {
    for (const pool of pools.values()) void pool.destroy()
    pools.clear()
  }
  return { to, keepOnly, destroy }
}
