/** Owns the kept-alive connections to units: one pool for each socket path, closed when its unit has left and is idle. */
import { Agent } from "node:http"
import type { Unit } from "./table.js"

// A unit closes a connection that was idle for 75 s (toolkit/http/listen.ts). We let go well before, so that a request
// never meets a connection which its unit is closing.
const idleMs = 30_000
const idleConnectionsPerUnit = 64

export interface UnitConnections {
  agentFor(unit: Unit): Agent
  /** Keeps no idle connection to units other than these; requests under way on the others go on. */
  keepOnly(units: readonly Unit[]): void
  /** Closes all connections. */
  destroy(): void
}

export function createUnitConnections(): UnitConnections {
  const agents = new Map<string, Agent>()

  const agentFor = ({ socket_path }: Unit): Agent => {
    const known = agents.get(socket_path)
    if (known) return known
    const agent = new Agent({ keepAlive: true, timeout: idleMs, maxFreeSockets: idleConnectionsPerUnit })
    agents.set(socket_path, agent)
    return agent
  }

  const keepOnly = (units: readonly Unit[]): void => {
    const wanted = new Set(units.map(({ socket_path }) => socket_path))
    for (const [path, agent] of agents) {
      if (wanted.has(path)) continue
      agents.delete(path)
      // What is in use now is not kept when it becomes free; `agent.destroy()` would cut it.
      agent.maxFreeSockets = 0
      for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
    }
  }

  const destroy = (): void => {
    for (const agent of agents.values()) agent.destroy()
    agents.clear()
  }
  return { agentFor, keepOnly, destroy }
}
