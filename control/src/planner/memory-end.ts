/** Records that a unit was ended for its memory, in the unit's row and in the log of its revision. */

import { appendLogLines } from "../logs/operations.js"
import type { PipelineContext } from "./context.js"
import type { UnitRow } from "./facts.js"
import { recordOomKill } from "./queries.js"

type EndedUnit = Pick<UnitRow, "unit_id" | "revision_id">

/** @param usedMb  undefined when the kernel ended it, which grants no more than the limit */
export async function recordMemoryEnd(
  { db, log }: Pick<PipelineContext, "db" | "log">,
  { unit_id: id, revision_id: revisionId }: EndedUnit,
  { usedMb, limitMb }: { readonly usedMb: number | undefined; readonly limitMb: number },
): Promise<void> {
  const did = usedMb === undefined ? "wanted" : `used ${usedMb} MB,`
  const message = `oom_killed: the unit ${did} more than its limit of ${limitMb} MB`
  log.warn({ unit_id: id, revision_id: revisionId, used_mb: usedMb, limit_mb: limitMb }, "unit killed for its memory")
  await db.transaction(async (tx) => {
    await recordOomKill(tx, id)
    await appendLogLines(tx, revisionId, "deploy", [{ message, level: "ERROR" }])
  })
}

/** Records the exit if the kernel killed the unit for exceeding its memory limit. Call it once for each exit of a unit. */
export async function reportMemoryEnd(context: PipelineContext, unit: EndedUnit): Promise<void> {
  const status = await context.machine.units.status(unit.unit_id)
  if (status.state !== "exited" || status.ranOutOfMb === undefined) return
  await recordMemoryEnd(context, unit, { usedMb: undefined, limitMb: status.ranOutOfMb })
}
