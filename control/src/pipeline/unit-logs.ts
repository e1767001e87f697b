/**
 * Follows the output of every unit. A unit that prints is noticed by the machine and its lines are stored at once, and
 * then at most every `restMs`, so that a busy one is stored in large pieces. A look every `safetyMs` is there for a notice
 * that got lost, and for machines that give none: for a unit that is silent it is one `stat`, and no question to the
 * database. Its last words, which may have no end, are stored by whoever notices its end.
 */
import type { PipelineContext } from "./context.js"
import { hideSecretsOf, shipUnitLog } from "./log-shipping.js"
import type { UnitRow } from "./queries.js"
import { type Repeated, repeated } from "./repeated.js"

const safetyMs = 5000
const restMs = 50

export interface UnitLogs {
  /** Follows these units and no other; repeating it is fine. */
  follow(units: readonly UnitRow[]): void
  stop(): Promise<void>
}

export function followUnitLogs(
  context: PipelineContext,
  { lookMs = safetyMs }: { readonly lookMs?: number } = {},
): UnitLogs {
  const followed = new Map<string, { readonly shipping: Repeated; unwatch: (() => void) | undefined }>()
  const ended = new Set<Promise<void>>()

  const begin = (unit: UnitRow) => {
    // A revision's secrets never change.
    let hide: ((text: string) => string) | undefined
    const hiding = async () => {
      hide ??= await hideSecretsOf(context, unit)
      return hide
    }
    // As it was before the last time that all of it was stored.
    let storedMark: string | undefined
    const ship = async () => {
      try {
        const mark = await context.runtime.logMark(unit.unit_id)
        if (mark === storedMark) return
        await shipUnitLog(context, unit, hiding)
        storedMark = mark
      } catch (err) {
        context.log.warn({ err, unit_id: unit.unit_id }, "a unit's output could not be stored; it is tried again")
      }
    }
    const shipping = repeated(ship, lookMs, { restMs })
    followed.set(unit.unit_id, { shipping, unwatch: undefined })
    shipping.wake()
  }

  const end = (unitId: string) => {
    const it = followed.get(unitId)
    if (!it) return
    followed.delete(unitId)
    it.unwatch?.()
    const stopped = it.shipping.stop().finally(() => ended.delete(stopped))
    ended.add(stopped)
  }

  return {
    follow: (units) => {
      const wanted = new Set(units.map(({ unit_id }) => unit_id))
      for (const unitId of [...followed.keys()]) if (!wanted.has(unitId)) end(unitId)
      for (const unit of units) if (!followed.has(unit.unit_id)) begin(unit)
      // One that is only about to start has no folder to watch.
      for (const [unitId, it] of followed) it.unwatch ??= context.runtime.watchLogs(unitId, it.shipping.wake)
    },
    stop: async () => {
      for (const unitId of [...followed.keys()]) end(unitId)
      await Promise.all(ended)
    },
  }
}
