/** What a unit tells of itself, kept for those who decide about it. */
import { isDeepStrictEqual } from "node:util"
import type { UnitReport } from "@superstep/machines/unit-client/unit-replies"
import type { PipelineContext } from "./context.js"
import { recordReport } from "./crash-queries.js"
import type { UnitRow } from "./facts.js"

const pick = ({ is_answering, worker_crashes, last_worker_crash, cross_origin }: UnitRow) => ({
  is_answering,
  worker_crashes,
  last_worker_crash,
  cross_origin,
})

/**
 * Stores what changed since the last look. Crashes of workers count towards a crash loop as the unit's own do
 * (decisions, control plane 12); which of them count is the unit's to say (server/src/workers/project-crashes.ts).
 * @param report  undefined when it did not answer
 * @returns       whether anything was stored
 */
export async function storeReport(
  { db, log }: Pick<PipelineContext, "db" | "log">,
  unit: UnitRow,
  report: UnitReport | undefined,
): Promise<boolean> {
  const { count, last } = report?.worker_crashes ?? { count: unit.worker_crashes, last: unit.last_worker_crash }
  const seen = {
    is_answering: report?.ready === true,
    worker_crashes: count,
    last_worker_crash: last,
    cross_origin: report ? report.cross_origin : unit.cross_origin,
  }
  if (isDeepStrictEqual(seen, pick(unit))) return false
  await recordReport(db, unit.unit_id, seen)
  if (count <= unit.worker_crashes) return true
  const { unit_id, revision_id } = unit
  log.warn({ unit_id, revision_id, worker_crashes: count, detail: last }, "workers of a unit crash")
  return true
}
