/** Ends a revision that failed: its reason is stored, its units end, and the route is where it was before. */
import type { Db } from "@superstep/toolkit/db/database"
import type { LogStream } from "../logs/log-line.js"
import { appendLogLines, lastLogLines } from "../logs/operations.js"
import { advance, type ClaimedRevision } from "../revisions/claims.js"
import { type ErrorCode, failedStatus } from "../revisions/revision.js"
import { wakePipeline } from "../revisions/wake-up.js"
import type { PipelineContext } from "./context.js"
import { statusMessage } from "./failures.js"
import { hideSecretsOf } from "./log-shipping.js"
import { stopRevision, unitsOfDeployment, unitsOfRevision } from "./queries.js"
import { switchBack } from "./switch-back.js"

/** @throws ClaimLost */
export async function endInFailure(
  context: PipelineContext,
  revision: ClaimedRevision,
  { code, message }: { code: ErrorCode; message: string },
): Promise<void> {
  const { db } = context
  const { revision_id: id, stage } = revision
  const stream: LogStream = stage === "queue" || stage === "fetch" || stage === "build" ? "build" : "deploy"
  const hide = await hideSecretsOf(context, { revision_id: id })
  const said = (await lastLogLines(db, id, stream, 5)).map((line) => line.message)
  // A revision that is draining has been DEPLOYED, which is final.
  const status = stage === "drain" ? "DEPLOYED" : failedStatus(stage)
  await db.transaction(async (tx) => {
    const error = { code, message: hide(statusMessage(code, message, said)) }
    await advance(tx, revision, { status, stage: null, error })
    await appendLogLines(tx, id, stream, [{ message: hide(`${status} (${code}): ${message}`), level: "ERROR" }])
    if (stage !== "drain") await endUnits(tx, revision)
    await wakePipeline(tx, revision.deployment_id)
  })
}

async function endUnits(tx: Db, { revision_id: failed, deployment_id: deploymentId }: ClaimedRevision): Promise<void> {
  const units = await unitsOfRevision(tx, failed)
  if (!units.some(({ state }) => state === "serving")) {
    await stopRevision(tx, failed)
    return
  }
  const before = (await unitsOfDeployment(tx, deploymentId)).find(({ state }) => state === "draining")
  await switchBack(tx, { deploymentId, failed, previous: before?.revision_id })
}
