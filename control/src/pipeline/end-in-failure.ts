/** Ends a revision that failed: stores the reason, retires its units, and gives the route back to the former revision. */
import type { Db } from "@superstep/toolkit/db/database"
import type { LogStream } from "../logs/log-line.js"
import { appendLogLines, lastLogLines } from "../logs/operations.js"
import type { PipelineContext } from "../planner/context.js"
import { hideSecretsOf } from "../planner/log-shipping.js"
import { advance, type ClaimedRevision } from "../revisions/claims.js"
import { type ErrorCode, failedStatus, shownMessage } from "../revisions/revision.js"
import { lockRoles, retire, switchBack } from "../revisions/role-queries.js"
import { readLines, statusMessage } from "../revisions/status-message.js"
import { wakePipeline } from "../revisions/wake-up.js"

/** @throws ClaimLost */
export async function endInFailure(
  context: PipelineContext,
  revision: ClaimedRevision,
  { code, message }: { code: ErrorCode; message: string },
): Promise<void> {
  const { db, limits } = context
  const { revision_id: id, deployment_id, stage } = revision
  const stream: LogStream = stage === "queue" || stage === "fetch" || stage === "build" ? "build" : "deploy"
  const hide = await hideSecretsOf(context, { revision_id: id, deployment_id })
  const lastLines = (await lastLogLines(db, id, stream, readLines)).map((line) => line.message)
  const status = failedStatus(stage)
  await db.transaction(async (tx) => {
    await lockRoles(tx, deployment_id)
    const error = { code, message: shownMessage(hide(statusMessage(code, message, lastLines))) }
    await advance(tx, revision, { status, stage: null, error })
    await appendLogLines(tx, id, stream, [{ message: hide(`${status} (${code}): ${message}`), level: "ERROR" }])
    await endUnits(tx, revision, limits.drainMs)
    await wakePipeline(tx, deployment_id)
  })
}

async function endUnits(
  tx: Db,
  { revision_id: failed, deployment_id: deploymentId }: ClaimedRevision,
  drainMs: number,
): Promise<void> {
  const served = (await switchBack(tx, { deploymentId, failed, drainMs })) !== undefined
  if (!served) await retire(tx, failed, 0)
}
