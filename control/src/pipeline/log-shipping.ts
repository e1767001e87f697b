/**
 * Brings what builds and units print from their files into `log_lines`. The offset that was read is stored in the same
 * transaction as the lines, so a killed control plane leaves neither a hole nor a repeat. Whoever would store the same
 * piece a second time finds the offset moved, and stores nothing.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { parseBuildLine } from "../builders/build-log.js"
import { recordEvent } from "../events/operations.js"
import { readLines } from "../files/read-lines.js"
import { hideSecrets } from "../logs/hide-secrets.js"
import type { NewLogLine } from "../logs/log-line.js"
import { appendLogLines } from "../logs/operations.js"
import { keepQuota } from "../logs/quota.js"
import { parseLine } from "../logs/structured-line.js"
import { type ClaimedRevision, holdClaim, recordBuildLog } from "../revisions/claims.js"
import { secretsOfRevision } from "../secrets/operations.js"
import { CannotOpen } from "../secrets/seal.js"
import type { PipelineContext } from "./context.js"
import { moveUnitLog, type UnitRow, unitLogOffset } from "./queries.js"
import type { StageInput } from "./stage.js"
import { unitToken } from "./unit.js"

/** Adds our own words to the build's log. */
export async function logBuild(
  { context, revision }: Pick<StageInput, "context" | "revision">,
  lines: readonly (string | NewLogLine)[],
): Promise<void> {
  await context.db.transaction(async (tx) => {
    await holdClaim(tx, revision)
    await appendLogLines(tx, revision.revision_id, "build", lines)
  })
}

/** @returns where the next reading begins; the same as `from` when there was nothing new */
export async function shipBuildLog(
  context: PipelineContext,
  revision: ClaimedRevision,
  file: string,
  from: number,
): Promise<number> {
  const { lines, next } = await readLines(file, from)
  if (next === from) return from
  // The build process has hidden the secrets, line by line; this finds those that span lines.
  const hide = await hideSecretsOf(context, revision)
  const rows = lines.map(parseBuildLine)
  const bytes = await context.db.transaction(async (tx) => {
    await recordBuildLog(tx, revision, next)
    return appendLogLines(tx, revision.revision_id, "build", rows, { hide })
  })
  await keepWithin(context, revision, bytes)
  return next
}

// An agent may run for years: its file is begun anew when everything in it is stored.
const keptBytes = 10 * 1024 * 1024

/** Takes lines back that somebody else has stored meanwhile. */
class StoredBefore extends Error {}

/**
 * Ships what a unit has printed since the last time.
 * @param hiding  asked once there is something: takes the secrets of its revision out of a text
 */
export async function shipUnitLog(
  context: Omit<PipelineContext, "edge">,
  unit: UnitRow,
  hiding: () => Promise<(text: string) => string> = () => hideSecretsOf(context, unit),
): Promise<void> {
  const { db, runtime } = context
  const { unit_id: unitId, revision_id: revisionId } = unit
  let from = await unitLogOffset(db, unitId)
  while (from !== undefined) {
    const { lines, next } = await runtime.logs(unitId, from)
    if (next === from) break
    const before = from
    const hide = await hiding()
    const stored = await db
      .transaction(async (tx) => {
        // The unit last: that is the order in which the pipeline takes a revision and its units.
        const bytes = await appendLogLines(tx, revisionId, "deploy", lines.map(parseLine), { hide })
        if (!(await moveUnitLog(tx, unitId, { from: before, to: next }))) throw new StoredBefore()
        return { bytes }
      })
      .catch((error: unknown) => {
        if (error instanceof StoredBefore) return undefined
        throw error
      })
    // Another one was quicker: what it left is the next piece.
    from = stored ? next : await unitLogOffset(db, unitId)
    await keepWithin(context, unit, stored?.bytes)
  }
  if (from === undefined || from <= keptBytes || !(await runtime.forgetLogs(unitId, from))) return
  await moveUnitLog(db, unitId, { from, to: 0 })
}

/** What must not be in a revision's log: the deployment's secrets, and what its units are given by us. */
export async function hideSecretsOf(
  context: Pick<PipelineContext, "db" | "key" | "log">,
  { revision_id: revisionId, ...unit }: { revision_id: string; unit_id?: string; token_sealed?: string },
): Promise<(text: string) => string> {
  const { db, key, log } = context
  try {
    const values = Object.values(await secretsOfRevision(db, key, { revision_id: revisionId }))
    const { unit_id, token_sealed } = unit
    const token = unit_id && token_sealed ? [unitToken({ key }, { unit_id, token_sealed }).reveal()] : []
    return hideSecrets([...values, ...token])
  } catch (err) {
    // An exchanged master key ends no log: what nobody could open was given to no process since.
    if (!(err instanceof CannotOpen)) throw err
    log.warn({ err, revision_id: revisionId }, "secrets of a revision cannot be opened, so its log cannot hide them")
    return (text) => text
  }
}

async function keepWithin(
  { db, limits: { logQuotaBytes: quotaBytes } }: Pick<PipelineContext, "db" | "limits">,
  { revision_id: revisionId, deployment_id: deploymentId }: { revision_id: string; deployment_id: string },
  bytes: number | undefined,
): Promise<void> {
  if (bytes === undefined || bytes <= quotaBytes) return
  const warn = (tx: Db, { workspaceId, lines }: { workspaceId: string; lines: number }) =>
    recordEvent(tx, {
      workspaceId,
      deploymentId,
      revisionId,
      type: "quota.warning",
      data: { quota: "logs", limit_bytes: quotaBytes, dropped_lines: lines },
    })
  await keepQuota(db, { deploymentId, revisionId, quotaBytes }, warn)
}
