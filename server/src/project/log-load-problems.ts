/** Logs why parts of a project did not load: one line for each cause. */
import { loadProblems } from "@superstep/protocol/unit/load-failures"
import type { Log } from "@superstep/toolkit/log/log"
import { type GraphFailure, withSource } from "../workers/port.js"

/** @param words  the constant phrase of the line */
export function logLoadProblems(log: Log, failed: readonly GraphFailure[], words: string): void {
  for (const { ids, message } of loadProblems(
    failed.map((failure) => ({ id: failure.graphId, message: withSource(failure) })),
  )) {
    const which = ids.length === 1 ? { graph_id: ids[0] } : { graph_ids: ids }
    log.error({ ...which, detail: message }, words)
  }
}
