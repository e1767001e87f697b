/**
 * Ends units that use more memory than their revision's limit, where the kernel does not. What counts is what all of a
 * unit's processes use by themselves, graphs' own included. One moment above the limit is none: garbage is collected.
 */
import type { PipelineContext } from "./context.js"
import { recordMemoryEnd } from "./memory-end.js"
import { sizedUnits } from "./queries.js"
import { unitLimitsOf } from "./unit-limits.js"

/** From look to look, in milliseconds. */
export const memoryLookMs = 2000
const looksThatConvince = 3

/** @returns the look, to be taken every `memoryLookMs` */
export function memoryWatch(context: PipelineContext): () => Promise<void> {
  const { db, runtime } = context
  let above = new Map<string, number>()
  return async () => {
    const units = (await sizedUnits(db)).flatMap(({ resource_spec: spec, ...unit }) => {
      const { memoryMb: limitMb } = unitLimitsOf(spec)
      return limitMb === undefined ? [] : [{ ...unit, limitMb }]
    })
    if (units.length === 0) return
    const used = await runtime.memoryMb(units.map(({ unit_id }) => unit_id))
    const before = above
    above = new Map()
    for (const { limitMb, ...unit } of units) {
      const usedMb = used.get(unit.unit_id) ?? 0
      if (usedMb <= limitMb) continue
      const looks = (before.get(unit.unit_id) ?? 0) + 1
      above.set(unit.unit_id, looks)
      if (looks < looksThatConvince) continue
      above.delete(unit.unit_id)
      await recordMemoryEnd(context, unit, { usedMb, limitMb })
      await runtime.kill(unit.unit_id)
    }
  }
}
