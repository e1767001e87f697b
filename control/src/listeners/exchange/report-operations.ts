/** Takes reports of listeners: each once, and in the order in which they were made (L6). */
import type { ReportedLine, ReportReply, ReportRequest } from "@superstep/protocol/listener/messages"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { NotFound } from "@superstep/toolkit/errors/errors"
import { takeReportedState } from "../../deployments/carried-queries.js"
import type { NewLogLine } from "../../logs/log-line.js"
import { appendLogLines } from "../../logs/operations.js"
import { keepWithin } from "../../planner/log-shipping.js"
import { rememberReported } from "../../pushes/resolve-watched.js"
import { takeReportedRevisions } from "../../revisions/queries.js"
import { wakePipeline } from "../../revisions/wake-up.js"
import type { CallingListener } from "../token-operations.js"
import { holdAssigned, ofDeployment, type ReportCursor, reportCursor, saveReport } from "./report-queries.js"

/**
 * Stores a report, unless it does not follow the last one: it was sent twice, or arrived late.
 * @param logQuotaBytes  most bytes of logs of the deployment
 * @throws NotFound  the listener has no such deployment
 */
export async function takeReport(
  db: Database,
  listener: CallingListener,
  report: ReportRequest,
  logQuotaBytes: number,
): Promise<ReportReply> {
  const { reply, added } = await db.transaction((tx) => storeReport(tx, listener, report))
  const { deployment_id } = report
  if (added) await keepWithin({ db, limits: { logQuotaBytes } }, { ...added, deployment_id }, added.bytes)
  return reply
}

interface AddedLines {
  readonly revision_id: string
  /** Of all logs of the deployment now. */
  readonly bytes: number | undefined
}

async function storeReport(
  tx: Db,
  { listenerId, homeId }: CallingListener,
  { deployment_id: deploymentId, after, state, lines }: ReportRequest,
): Promise<{ readonly reply: ReportReply; readonly added?: AddedLines | undefined }> {
  if ((await holdAssigned(tx, listenerId, deploymentId)) === 0) {
    throw new NotFound(`Deployment ID ${deploymentId} not found.`)
  }
  const cursor = await reportCursor(tx, deploymentId, homeId)
  if (cursor.reports !== after) return { reply: { is_accepted: false, ...cursor } }
  await rememberReported(tx, deploymentId, state.revisions)
  await takeReportedRevisions(tx, deploymentId, state.revisions)
  await takeReportedState(tx, deploymentId, state)
  const fresh = lines.filter((line) => line.log_line_id > cursor.log_line_id)
  const added = await storeLines(tx, deploymentId, fresh)
  const next: ReportCursor = {
    reports: cursor.reports + 1,
    log_line_id: fresh.at(-1)?.log_line_id ?? cursor.log_line_id,
  }
  await saveReport(tx, deploymentId, { ...state, ...next })
  if (state.is_gone) await wakePipeline(tx, deploymentId)
  return { reply: { is_accepted: true, ...next }, added }
}

/** @returns  what was added last; undefined when nothing was */
async function storeLines(
  tx: Db,
  deploymentId: string,
  lines: readonly ReportedLine[],
): Promise<AddedLines | undefined> {
  const known = await ofDeployment(tx, deploymentId, [...new Set(lines.map((it) => it.revision_id))])
  let added: AddedLines | undefined
  for (const group of groups(lines.filter((line) => known.has(line.revision_id)))) {
    const [first] = group
    if (!first) continue
    const { revision_id, stream } = first
    added = { revision_id, bytes: await appendLogLines(tx, revision_id, stream, group.map(toAppend)) }
  }
  return added
}

const toAppend = ({ message, level, time, run_id, thread_id, is_platform }: ReportedLine): NewLogLine => ({
  message,
  level,
  at: new Date(time),
  ...(run_id !== null && { runId: run_id }),
  ...(thread_id && { threadId: thread_id }),
  ...(is_platform && { isPlatform: true }),
})

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
