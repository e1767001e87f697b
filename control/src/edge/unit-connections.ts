/** Owns the kept connections to units: one pool for each socket path, closed when its unit has left and is idle. */
import { keptConnections } from "@superstep/protocol/http/forward"
import type { Unit } from "./table.js"

// A unit closes a connection that was idle for 75 s or more (toolkit/http/keep-alive.ts). We close it well before, so that a request
// never meets a connection which its unit is closing.
const idleMs = 30_000

type Connections = ReturnType<typeof keptConnections>

export interface UnitConnections {
  to(unit: Unit): Connections
  /** Keeps no idle connection to units other than these; requests under way on the others go on. */
  keepOnly(units: readonly Unit[]): void
  /** Closes all connections. */
  destroy(): void
}

/** @param maxHeaderBytes  most bytes of all headers of an answer */
export function createUnitConnections({ maxHeaderBytes }: { maxHeaderBytes: number }): UnitConnections {
  const pools = new Map<string, Connections>()

  const to = ({ socket_path }: Unit): Connections => {
    const known = pools.get(socket_path)
    if (known) return known
    const pool = keptConnections(socket_path, { maxHeaderBytes, idleMs })
    pools.set(socket_path, pool)
    return pool
  }

  const keepOnly = (units: readonly Unit[]): void => {
    const wanted = new Set(units.map(({ socket_path }) => socket_path))
    for (const [path, pool] of pools) {
      if (wanted.has(path)) continue
      pools.delete(path)
      void pool.close()
    }
  }

  const destroy = (): void => {
    for (const pool of pools.values()) void pool.destroy()
    pools.clear()
  }
  return { to, keepOnly, destroy }
}
