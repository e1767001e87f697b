/** Takes reports of listeners: each once, and in the order in which they were made (L6). */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { NotFound } from "@superstep/toolkit/errors/errors"
import { appendLogLines } from "../logs/operations.js"
import { wakePipeline } from "../revisions/wake-up.js"
import type { ReportedLine, ReportReply, ReportRequest } from "./exchange.js"
import {
  holdAssigned,
  ofDeployment,
  type ReportCursor,
  reportCursor,
  saveDeployment,
  saveReport,
  saveRevisions,
} from "./report-queries.js"
import type { CallingListener } from "./token-operations.js"

/**
 * Stores a report, unless it does not follow the last one: it was sent twice, or arrived late.
 * @throws NotFound  the listener has no such deployment
 */
export const takeReport = (
  db: Database,
  { listenerId, homeId }: CallingListener,
  { deployment_id: deploymentId, after, state, lines }: ReportRequest,
): Promise<ReportReply> =>
  db.transaction(async (tx) => {
    if ((await holdAssigned(tx, listenerId, deploymentId)) === 0) {
      throw new NotFound(`Deployment ID ${deploymentId} not found.`)
    }
    const cursor = await reportCursor(tx, deploymentId, homeId)
    if (cursor.reports !== after) return { is_accepted: false, ...cursor }
    await saveRevisions(tx, deploymentId, state.revisions)
    await saveDeployment(tx, deploymentId, state)
    const next: ReportCursor = {
      reports: cursor.reports + 1,
      log_line_id: await storeLines(tx, deploymentId, cursor, lines),
    }
    await saveReport(tx, deploymentId, { ...state, ...next })
    if (state.is_gone) await wakePipeline(tx, deploymentId)
    return { is_accepted: true, ...next }
  })

/** @returns  the last line that is stored now, as its installation numbers it */
async function storeLines(
  tx: Db,
  deploymentId: string,
  cursor: ReportCursor,
  lines: readonly ReportedLine[],
): Promise<number> {
  const known = await ofDeployment(tx, deploymentId, [...new Set(lines.map((it) => it.revision_id))])
  let last = cursor.log_line_id
  for (const group of groups(lines.filter((line) => line.log_line_id > cursor.log_line_id))) {
    const [first] = group
    if (first && known.has(first.revision_id)) {
      await appendLogLines(
        tx,
        first.revision_id,
        first.stream,
        group.map(({ message, level, time, run_id }) => ({
          message,
          level,
          at: new Date(time),
          ...(run_id !== null && { runId: run_id }),
        })),
      )
    }
    last = group.at(-1)?.log_line_id ?? last
  }
  return last
}

/** Lines that follow each other in one log, together. Pure. */
export function groups(lines: readonly ReportedLine[]): ReportedLine[][] {
  const found: ReportedLine[][] = []
  for (const line of lines) {
    const group = found.at(-1)
    const last = group?.at(-1)
    if (group && last?.revision_id === line.revision_id && last.stream === line.stream) group.push(line)
    else found.push([line])
  }
  return found
}
