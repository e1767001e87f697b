/**
 * Ends units that use more memory than their revision's limit, where the kernel does not. What counts is what all of a unit's processes
 * use, graphs' own included. A single look above the limit does not count: garbage is collected.
 */

import { unitLimitsOf } from "../deployments/unit-limits.js"
import type { PipelineContext } from "./context.js"
import { recordMemoryEnd } from "./memory-end.js"
import type { PlannedRow } from "./queries.js"

/** From look to look, in milliseconds. */
export const memoryLookMs = 2000
const looksThatConvince = 3
// The memory of a unit that uses less than half of its limit is measured again after this time; that of one which was not measured,
// most likely since its limit is enforced by the kernel, after the longer one.
const calmMs = 10_000
const unmeasuredMs = 30_000

export type SizedUnit = Pick<PlannedRow, "unit_id" | "revision_id" | "resource_spec">

/** @returns the look at units that run, to be taken every `memoryLookMs`; never throws */
export function memoryWatch(context: PipelineContext): (units: readonly SizedUnit[]) => Promise<void> {
  const { machine, failures, clock } = context
  let above = new Map<string, number>()
  /** When those that need no look for a while are measured again. */
  const resting = new Map<string, number>()

  const look = async (running: readonly SizedUnit[]) => {
    const now = clock.now()
    for (const [unitId, until] of resting) if (until <= now) resting.delete(unitId)
    const units = running.filter(({ unit_id }) => !resting.has(unit_id))
    if (units.length === 0) return
    const used = await machine.units.memoryMb(units.map(({ unit_id }) => unit_id))
    const before = above
    above = new Map()
    for (const { resource_spec: spec, ...unit } of units) {
      const { memoryMb: limitMb } = unitLimitsOf(spec)
      const usedMb = used.get(unit.unit_id)
      if (usedMb === undefined) resting.set(unit.unit_id, now + unmeasuredMs)
      else if (usedMb < limitMb / 2) resting.set(unit.unit_id, now + calmMs)
      if (usedMb === undefined || usedMb <= limitMb) continue
      const looks = (before.get(unit.unit_id) ?? 0) + 1
      above.set(unit.unit_id, looks)
      if (looks < looksThatConvince) continue
      above.delete(unit.unit_id)
      await failures.attempt("the end of a unit for its memory", { unit_id: unit.unit_id }, async () => {
        await recordMemoryEnd(context, unit, { usedMb, limitMb })
        await machine.units.kill(unit.unit_id)
      })
    }
  }
  return (units) => failures.attempt("the measuring of memory", {}, () => look(units))
}
