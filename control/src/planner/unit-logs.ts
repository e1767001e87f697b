/**
 * Follows the output of every unit. A unit that prints is noticed by the machine and its lines are stored at once, and
 * then at most every `restMs`, so that a busy one is stored in large pieces. A look every `safetyMs` is there for a notice
 * that got lost, and for machines that give none: for a unit that is silent it is a short question to the
 * machine, and none to the database. Its last words, which may have no end, are stored by whoever notices its end.
 */

import { type Repeated, repeated } from "@superstep/toolkit/exec/repeated"
import type { PipelineContext } from "./context.js"
import type { UnitRow } from "./facts.js"
import { hideSecretsOf, shipUnitLog } from "./log-shipping.js"

const safetyMs = 5000
const restMs = 50
// Between the beginnings of two watches: an engine or a proxy may end each one at once.
const watchMs = 1000

interface Followed {
  readonly shipping: Repeated
  unwatch: (() => void) | undefined
}

export interface UnitLogs {
  /** Follows these units and no other; repeating it is fine. */
  follow(units: readonly UnitRow[]): void
  stop(): Promise<void>
}

export function followUnitLogs(
  context: PipelineContext,
  { lookMs = safetyMs }: { readonly lookMs?: number } = {},
): UnitLogs {
  const all = new Map<string, Followed>()
  const ended = new Set<Promise<void>>()

  const begin = (unit: UnitRow) => {
    // A revision's secrets never change.
    let hide: ((text: string) => string) | undefined
    const hiding = async () => {
      hide ??= await hideSecretsOf(context, unit)
      return hide
    }
    let stored: string | undefined
    let watchAt = 0
    const watch = async () => {
      if (followed.unwatch || context.clock.now() < watchAt) return
      watchAt = context.clock.now() + watchMs
      const onEnd = () => {
        followed.unwatch = undefined
      }
      // One that is only about to start cannot be watched yet.
      followed.unwatch = await context.machine.units.watchLogs(unit.unit_id, () => followed.shipping.wake(), onEnd)
    }
    const ship = async () => {
      try {
        await watch()
        stored = await shipUnitLog(context, unit, hiding, stored)
      } catch (err) {
        context.log.warn({ err, unit_id: unit.unit_id }, "a unit's output could not be stored; it is tried again")
      }
    }
    const followed: Followed = {
      shipping: repeated(ship, lookMs, { restMs, clock: context.clock }),
      unwatch: undefined,
    }
    all.set(unit.unit_id, followed)
    followed.shipping.wake()
  }

  const end = (unitId: string) => {
    const followed = all.get(unitId)
    if (!followed) return
    all.delete(unitId)
    const stopped = followed.shipping.stop().then(() => {
      followed.unwatch?.()
      ended.delete(stopped)
    })
    ended.add(stopped)
  }

  return {
    follow: (units) => {
      const wanted = new Set(units.map(({ unit_id }) => unit_id))
      for (const unitId of [...all.keys()]) if (!wanted.has(unitId)) end(unitId)
      for (const unit of units) if (!all.has(unit.unit_id)) begin(unit)
      for (const { unwatch, shipping } of all.values()) if (!unwatch) shipping.wake()
    },
    stop: async () => {
      for (const unitId of [...all.keys()]) end(unitId)
      await Promise.all(ended)
    },
  }
}
