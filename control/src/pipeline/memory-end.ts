/** A unit that ended for its memory: who looks for the reason finds it in the log of its revision. */
import { appendLogLines } from "../logs/operations.js"
import type { PipelineContext } from "./context.js"
import { noteMemoryEnd, type UnitRow } from "./queries.js"

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
    await noteMemoryEnd(tx, id)
    await appendLogLines(tx, revisionId, "deploy", [{ message, level: "ERROR" }])
  })
}

/** To be called once for each end of a unit. @returns whether the kernel ended it for its memory */
export async function tellMemoryEnd(context: PipelineContext, unit: EndedUnit): Promise<boolean> {
  const status = await context.runtime.status(unit.unit_id)
  if (status.state !== "exited" || status.ranOutOfMb === undefined) return false
  await recordMemoryEnd(context, unit, { usedMb: undefined, limitMb: status.ranOutOfMb })
  return true
}
