/**
 * Counts what is open on each unit now, whether or not the unit is still in the table, and remembers when each was last
 * used.
 */

export type OpenKind = "requests" | "streams" | "websockets"
export type OpenCounts = Readonly<Record<OpenKind, number>>

/** One open exchange. */
export interface OpenExchange {
  /** Counts the exchange as a stream from now on. */
  becomeStream(): void
  /** Ends the exchange. Further calls do nothing. */
  close(): void
}

export interface Counters {
  /** @param isUse  whether the exchange counts as use of the unit (`idle_ms`); default true */
  open(unitId: string, kind: OpenKind, options?: { isUse: boolean }): OpenExchange
  /** How much is open on a unit, of all kinds. */
  openOn(unitId: string): number
  /**
   * By unit: all units with something open, and the given ones in any case. `idle_ms` is the time since the unit was last
   * used, or since the edge started.
   */
  snapshot(unitIds: readonly string[]): Record<string, OpenCounts & { readonly idle_ms: number }>
}

const none: OpenCounts = { requests: 0, streams: 0, websockets: 0 }
const total = ({ requests, streams, websockets }: OpenCounts): number => requests + streams + websockets

export function createCounters(): Counters {
  const counts = new Map<string, OpenCounts>()
  const startedAt = performance.now()
  const usedAt = new Map<string, number>()
  const of = (unitId: string): OpenCounts => counts.get(unitId) ?? none

  const add = (unitId: string, kind: OpenKind, change: 1 | -1): void => {
    const next = { ...of(unitId), [kind]: of(unitId)[kind] + change }
    if (total(next) > 0) counts.set(unitId, next)
    else counts.delete(unitId)
  }

  const open: Counters["open"] = (unitId, first, { isUse } = { isUse: true }) => {
    let kind: OpenKind | undefined = first
    const recordUse = () => isUse && usedAt.set(unitId, performance.now())
    add(unitId, first, 1)
    recordUse()
    const becomeStream = () => {
      if (kind !== "requests") return
      add(unitId, "streams", 1)
      add(unitId, "requests", -1)
      kind = "streams"
    }
    const close = () => {
      if (kind === undefined) return
      add(unitId, kind, -1)
      kind = undefined
      recordUse()
    }
    return { becomeStream, close }
  }

  const idleMs = (unitId: string): number =>
    total(of(unitId)) > 0 ? 0 : Math.round(performance.now() - (usedAt.get(unitId) ?? startedAt))

  const snapshot: Counters["snapshot"] = (unitIds) => {
    const shown = new Set([...unitIds, ...counts.keys()])
    for (const unitId of usedAt.keys()) if (!shown.has(unitId)) usedAt.delete(unitId)
    return Object.fromEntries([...shown].map((unitId) => [unitId, { ...of(unitId), idle_ms: idleMs(unitId) }]))
  }

  return { open, openOn: (unitId) => total(of(unitId)), snapshot }
}
