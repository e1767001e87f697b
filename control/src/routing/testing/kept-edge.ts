/** An edge of which only the table is there: it refuses a lower number, as the real one does. */
import type { Edge } from "@superstep/edge/port"
import type { Table } from "@superstep/edge/table"
import { Conflict } from "@superstep/toolkit/errors/errors"

export interface KeptEdge extends Pick<Edge, "push" | "status"> {
  /** All tables that it took. */
  readonly taken: Table[]
  /** Its present table is lost, or is that of another control plane. */
  becomes(generation: number): void
}

export function keptEdge(): KeptEdge {
  const taken: Table[] = []
  let generation = 0
  return {
    taken,
    becomes: (now) => {
      generation = now
    },
    push: async (table) => {
      if (table.generation < generation) throw new Conflict("a newer one is in use", "stale_generation")
      generation = table.generation
      taken.push(table)
      return { generation }
    },
    status: async () => ({ generation, units: {}, deployments: {} }),
  }
}
