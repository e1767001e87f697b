/** The edge of a simulation: it has a table, and what is open on each unit. */

import type { Edge, EdgeState } from "@superstep/edge/port"
import type { Table } from "@superstep/edge/table"
import { Conflict } from "@superstep/toolkit/errors/errors"
import type { Faults } from "@superstep/toolkit/testing/simulation/faults"
import type { Life } from "@superstep/toolkit/testing/simulation/life"
import type { SimulatedClock } from "@superstep/toolkit/testing/simulation/simulated-clock"

export type Route = Table["routes"][number]

export class SimulatedEdge {
  readonly #clock: SimulatedClock
  readonly #faults: Faults
  table: Table | undefined
  /** Called before a table is used. */
  onTable: (table: Table) => void = () => undefined
  readonly #open = new Map<string, { count: number; since: number }>()
  readonly #startedAt = 0

  constructor(clock: SimulatedClock, faults: Faults) {
    this.#clock = clock
    this.#faults = faults
  }

  routeOf(deploymentId: string): Route | undefined {
    return this.table?.routes.find((route) => route.deployment_id === deploymentId)
  }

  /** Whether new requests may go to a unit. */
  sendsTo(unitId: string): boolean {
    return this.table?.routes.some(({ units }) => units.some(({ unit_id }) => unit_id === unitId)) ?? false
  }

  openOn(unitId: string): number {
    return this.#open.get(unitId)?.count ?? 0
  }

  /** A request begins or ends on a unit. */
  count(unitId: string, change: 1 | -1): void {
    this.#open.set(unitId, { count: Math.max(0, this.openOn(unitId) + change), since: this.#clock.now() })
  }

  /** As one control plane sees it. */
  of(life: Life): Edge {
    const manner = { of: "edge", ms: [1, 30], failing: 6, hanging: 0.5 } as const
    const call = <T>(work: () => T) => this.#faults.call(life, manner, work)
    return {
      url: "http://127.0.0.1:1",
      push: (table) => call(() => this.#take(table)),
      status: () => call(() => this.#status()),
      tables: async () => [],
      ensure: () => call(() => undefined),
      isAlive: async () => true,
    }
  }

  #take(table: Table): { generation: number } {
    if (table.generation < (this.table?.generation ?? 0)) throw new Conflict("stale", "stale_generation")
    this.onTable(table)
    this.table = table
    return { generation: table.generation }
  }

  #status(): EdgeState {
    const units: Record<string, EdgeState["units"][string]> = {}
    for (const route of this.table?.routes ?? [])
      for (const { unit_id } of route.units)
        units[unit_id] = { requests: 0, streams: 0, websockets: 0, idle_ms: this.#clock.now() - this.#startedAt }
    for (const [unitId, { count, since }] of this.#open)
      units[unitId] = { requests: count, streams: 0, websockets: 0, idle_ms: count > 0 ? 0 : this.#clock.now() - since }
    return { deployments: {}, generation: this.table?.generation ?? 0, units }
  }
}
