/**
 * Ends units that use more memory than their revision's limit, before they take the machine's. What counts is what all of a
 * unit's processes use by themselves, graphs' own included. One moment above the limit is none: garbage is collected.
 */
import { appendLogLines } from "../logs/operations.js"
import type { PipelineContext } from "./context.js"
import { limitedUnits, noteMemoryEnd } from "./queries.js"

/** From look to look, in milliseconds. */
export const memoryLookMs = 2000
const looksThatConvince = 3

/** @returns the look, to be taken every `memoryLookMs` */
export function memoryWatch(context: PipelineContext): () => Promise<void> {
  const { db, runtime, log } = context
  let above = new Map<string, number>()
  return async () => {
    const units = await limitedUnits(db)
    if (units.length === 0) return
    const used = await runtime.memoryMb(units.map(({ unit_id }) => unit_id))
    const before = above
    above = new Map()
    for (const { unit_id: id, revision_id: revisionId, limit_mb: limitMb } of units) {
      const usedMb = used.get(id) ?? 0
      if (usedMb <= limitMb) continue
      const looks = (before.get(id) ?? 0) + 1
      above.set(id, looks)
      if (looks < looksThatConvince) continue
      above.delete(id)
      const message = `oom_killed: the unit used ${usedMb} MB, more than its limit of ${limitMb} MB`
      log.warn(
        { unit_id: id, revision_id: revisionId, used_mb: usedMb, limit_mb: limitMb },
        "unit killed for its memory",
      )
      await db.transaction(async (tx) => {
        await noteMemoryEnd(tx, id)
        await appendLogLines(tx, revisionId, "deploy", [{ message, level: "ERROR" }])
      })
      await runtime.kill(id)
    }
  }
}
