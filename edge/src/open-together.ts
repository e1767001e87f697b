/** What is open on each unit through several edges. Pure. */
import type { EdgeState } from "./port.js"

type OpenOnUnits = EdgeState["units"]

/** A unit was used last when the edge that used it last did. */
export function openTogether(all: readonly OpenOnUnits[]): OpenOnUnits {
  const units: Record<string, OpenOnUnits[string]> = {}
  for (const [unitId, more] of all.flatMap((it) => Object.entries(it))) {
    const open = units[unitId] ?? { requests: 0, streams: 0, websockets: 0, idle_ms: more.idle_ms }
    units[unitId] = {
      requests: open.requests + more.requests,
      streams: open.streams + more.streams,
      websockets: open.websockets + more.websockets,
      idle_ms: Math.min(open.idle_ms, more.idle_ms),
    }
  }
  return units
}
