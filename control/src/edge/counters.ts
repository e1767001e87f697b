/** Counts what is open on each unit at this moment, whether or not the unit is still in the table. */

export type OpenKind = "requests" | "streams" | "websockets"
export type OpenCounts = Readonly<Record<OpenKind, number>>

/** One open exchange. */
export interface OpenExchange {
  /** It turned out to be a stream. */
  becomeStream(): void
  /** It is over. Further calls do nothing. */
  close(): void
}

export interface Counters {
  open(unitId: string, kind: OpenKind): OpenExchange
  /** Everything that is open on a unit. */
  openOn(unitId: string): number
  /** By unit: those with something open, and the given ones also when they have nothing. */
  snapshot(unitIds: readonly string[]): Record<string, OpenCounts>
}

const none: OpenCounts = { requests: 0, streams: 0, websockets: 0 }
const total = ({ requests, streams, websockets }: OpenCounts): number => requests + streams + websockets

export function createCounters(): Counters {
  const counts = new Map<string, OpenCounts>()
  const of = (unitId: string): OpenCounts => counts.get(unitId) ?? none

  const add = (unitId: string, kind: OpenKind, change: 1 | -1): void => {
    const next = { ...of(unitId), [kind]: of(unitId)[kind] + change }
    if (total(next) > 0) counts.set(unitId, next)
    else counts.delete(unitId)
  }

  const open = (unitId: string, first: OpenKind): OpenExchange => {
    let kind: OpenKind | undefined = first
    add(unitId, first, 1)
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
    }
    return { becomeStream, close }
  }

  const snapshot = (unitIds: readonly string[]) =>
    Object.fromEntries([...new Set([...unitIds, ...counts.keys()])].map((unitId) => [unitId, of(unitId)]))

  return { open, openOn: (unitId) => total(of(unitId)), snapshot }
}
