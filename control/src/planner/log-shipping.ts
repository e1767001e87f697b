/**
 * Stores what units print in `log_lines`. The place up to which their output was read is stored in the same transaction as the lines, and
 * nowhere else, so a killed control plane leaves neither a hole nor a repeat, whichever computer its successor runs on. Two that store the
 * same piece at once: the second finds the place moved, and stores nothing.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { hideSecrets } from "@superstep/toolkit/text/hide-secrets"
import { deploymentById } from "../deployments/carried-queries.js"
import { databaseOf } from "../deployments/database.js"
import { recordEvent } from "../events/operations.js"
import type { NewLogLine } from "../logs/log-line.js"
import { appendLogLines } from "../logs/operations.js"
import { keepQuota } from "../logs/quota.js"
import { storeSomehow } from "../logs/store-somehow.js"
import { parseLine, plainLine } from "../logs/structured-line.js"
import { secretsOfRevision } from "../secrets/operations.js"
import { CannotOpen } from "../secrets/seal.js"
import type { PipelineContext } from "./context.js"
import type { UnitRow } from "./facts.js"
import { moveUnitLog, unitLogPlace } from "./queries.js"
import { unitToken } from "./unit.js"

/** Takes lines back that somebody else has stored meanwhile. */
class StoredBefore extends Error {}

/**
 * Ships what a unit has printed since the last time.
 * @param hiding  asked once there is something: takes the secrets of its revision out of a text
 * @param known   what the last call returned: while there is nothing new, the database is not asked
 * @returns       up to where its output is stored; undefined when the unit is gone
 */
export async function shipUnitLog(
  context: Omit<PipelineContext, "edge">,
  unit: UnitRow,
  hiding: () => Promise<(text: string) => string> = () => hideSecretsOf(context, unit),
  known?: string,
): Promise<string | undefined> {
  const { db, machine, crashPoint } = context
  const { unit_id: unitId, revision_id: revisionId } = unit
  let from = known ?? (await unitLogPlace(db, unitId))
  while (from !== undefined) {
    const { lines, next } = await machine.units.logs(unitId, from)
    if (next === from) break
    const before = from
    const hide = await hiding()
    crashPoint("logs:before-store")
    const store = (parsed: readonly NewLogLine[]) =>
      db.transaction(async (tx) => {
        // The unit last: that is the order in which the pipeline takes a revision and its units.
        const bytes = await appendLogLines(tx, revisionId, "deploy", parsed, { hide })
        if (!(await moveUnitLog(tx, unitId, { from: before, to: next }))) throw new StoredBefore()
        return { bytes }
      })
    const forms = [() => lines.map(parseLine), () => lines.map(plainLine)]
    const stored = await storeSomehow(store, forms, context.log).catch((error: unknown) => {
      if (error instanceof StoredBefore) return undefined
      throw error
    })
    crashPoint("logs:after-store")
    // Another one was quicker: what it left is the next piece.
    from = stored ? next : await unitLogPlace(db, unitId)
    await keepWithin(context, unit, stored?.bytes)
  }
  return from
}

export interface HiddenOf {
  readonly revision_id: string
  readonly deployment_id: string
  readonly unit_id?: string
  readonly token_sealed?: string
}

/**
 * What must not be in a revision's log: the deployment's secrets, and what its units are given by us, such as the password of its database.
 * @returns  takes them out of a text; leaves it as it is when nobody can open them
 */
export async function hideSecretsOf(
  context: Pick<PipelineContext, "db" | "key" | "log">,
  unit: HiddenOf,
): Promise<(text: string) => string> {
  try {
    return await hideOpenedSecretsOf(context, unit)
  } catch (err) {
    // An exchanged master key ends no log: what nobody could open was given to no process since.
    if (!(err instanceof CannotOpen)) throw err
    const words = "secrets of a revision cannot be opened, so its log cannot hide them"
    context.log.warn({ err, revision_id: unit.revision_id }, words)
    return (text) => text
  }
}

/**
 * The same, for a text that may be shown only without them.
 * @throws CannotOpen  they were sealed with another master key
 */
export async function hideOpenedSecretsOf(
  { db, key }: Pick<PipelineContext, "db" | "key">,
  { revision_id: revisionId, deployment_id: deploymentId, ...unit }: HiddenOf,
): Promise<(text: string) => string> {
  const values = Object.values(await secretsOfRevision(db, key, { revision_id: revisionId }))
  const { unit_id, token_sealed } = unit
  const token = unit_id && token_sealed ? [unitToken({ key }, { unit_id, token_sealed }).reveal()] : []
  const deployment = await deploymentById(db, deploymentId)
  const password = deployment && databaseOf(key, deployment)?.password.reveal()
  return hideSecrets([...values, ...token, ...(password === undefined ? [] : [password])])
}

/** Keeps the log of a deployment within its quota. @param bytes  its size; undefined when nothing was added */
export async function keepWithin(
  {
    db,
    limits: { logQuotaBytes: quotaBytes },
  }: Pick<PipelineContext, "db"> & {
    readonly limits: Pick<PipelineContext["limits"], "logQuotaBytes">
  },
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
