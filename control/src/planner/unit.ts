/** A revision's units: their rows, their addresses, and everything that they are started with. */
import { randomBytes } from "node:crypto"
import type { UnitSpec } from "@superstep/machines/port/port"
import type { UnitAddress } from "@superstep/machines/unit-client/unit-request"
import { Secret, secretsOf } from "@superstep/toolkit/config/settings"
import type { Db } from "@superstep/toolkit/db/database"
import { v7 as newId } from "uuid"
import type { CarriedDeployment } from "../deployments/carried-queries.js"
import { deploymentDatabaseUri } from "../deployments/database.js"
import { replicaBounds } from "../deployments/deployment.js"
import { memoryMbOf, unitLimitsOf } from "../deployments/unit-limits.js"
import { platformOfArtifact } from "../revisions/artifact-queries.js"
import { ClaimLost } from "../revisions/claims.js"
import type { RevisionRow } from "../revisions/queries.js"
import { lockRoles, startRevision } from "../revisions/role-queries.js"
import { wakePipeline } from "../revisions/wake-up.js"
import { secretsOfRevision } from "../secrets/operations.js"
import { type MasterKey, open, seal } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import { besidesPool, requireConnections, takeConnections } from "./connections.js"
import type { PipelineContext } from "./context.js"
import type { UnitRow } from "./facts.js"
import { addUnit, replaceUnitId, unitsOfRevision } from "./queries.js"
import { countStaying } from "./scale-queries.js"

/**
 * The units of a revision that is being deployed, as many as it asks for. They are added when they are asked for the first time, all or
 * none.
 * @throws NoConnections  there is no room for all of them
 * @throws ClaimLost      it is no longer being deployed
 */
export function ensureUnits(
  { db, key, limits }: Pick<PipelineContext, "db" | "key" | "limits">,
  revision: Pick<RevisionRow, "revision_id" | "deployment_id" | "source_config">,
): Promise<UnitRow[]> {
  const { revision_id: revisionId, deployment_id: deploymentId } = revision
  return db.transaction(async (tx) => {
    await lockRoles(tx, deploymentId)
    const existing = (await unitsOfRevision(tx, revisionId)).length
    const wanted = await replicasFor(tx, revision)
    await requireConnections(tx, { units: wanted - existing, budget: limits.connections })
    if (existing === 0 && (await startRevision(tx, revisionId)) === 0) throw new ClaimLost(revisionId)
    for (let ordinal = 0; ordinal < wanted; ordinal++) {
      await insertUnit(tx, key, { deploymentId, revisionId, ordinal, isReady: true })
    }
    // The planner watches them from now on.
    await wakePipeline(tx, deploymentId)
    return unitsOfRevision(tx, revisionId)
  })
}

/** As many as the revision that serves has for its load, within its own bounds. */
async function replicasFor(
  tx: Db,
  { deployment_id, source_config }: Pick<RevisionRow, "deployment_id" | "source_config">,
): Promise<number> {
  const { least, most } = replicaBounds(source_config)
  return Math.min(most, Math.max(least, await countStaying(tx, deployment_id)))
}

/** Adds a unit unless the revision has one of that ordinal. */
export async function insertUnit(
  tx: Db,
  key: MasterKey,
  unit: { deploymentId: string; revisionId: string; ordinal: number; isReady: boolean },
): Promise<void> {
  await addUnit(tx, { ...newUnitOf(key), ...unit })
}

/** Gives a unit another id and token. What runs under the former id is not its process any more. */
export const renewUnit = (tx: Db, key: MasterKey, formerId: string): Promise<number> =>
  replaceUnitId(tx, formerId, newUnitOf(key))

function newUnitOf(key: MasterKey): { unitId: string; tokenSealed: string } {
  const unitId = newId()
  return { unitId, tokenSealed: seal(key, randomBytes(32).toString("base64url"), contextOf.unit(unitId)) }
}

export const unitToken = (
  { key }: Pick<PipelineContext, "key">,
  unit: { unit_id: string; token_sealed: string },
): Secret => new Secret(open(key, unit.token_sealed, contextOf.unit(unit.unit_id)))

export const unitAddress = (
  context: PipelineContext,
  unit: Pick<UnitRow, "unit_id" | "token_sealed">,
): UnitAddress => ({
  address: context.machine.units.address(unit.unit_id),
  token: unitToken(context, unit),
  clock: context.clock,
  send: context.network?.sendToUnit,
})

/**
 * What the machine needs to start a unit, at any time of its life.
 * @throws NoConnections  there is no room for it
 */
export async function unitSpec(
  context: PipelineContext,
  unit: UnitRow,
  revision: RevisionRow,
  deployment: CarriedDeployment,
): Promise<UnitSpec> {
  const { db, key } = context
  if (revision.artifact_id === null) throw new Error(`revision ${revision.revision_id} has no artifact`)
  const secrets = await secretsOfRevision(db, key, revision)
  const connections = await takeConnections(context, unit)
  return {
    unitId: unit.unit_id,
    deploymentId: deployment.deployment_id,
    name: deployment.route_name,
    revisionId: revision.revision_id,
    artifactId: revision.artifact_id,
    platform: await platformOfArtifact(db, revision.artifact_id),
    configPath: revision.source_revision_config.langgraph_config_path ?? "langgraph.json",
    deploymentNumber: deployment.number,
    token: unitToken(context, unit),
    poolSize: connections - besidesPool,
    databaseUri: deploymentDatabaseUri(key, db.uri, deployment),
    secrets: secretsOf(secrets),
    memoryMb: memoryMbOf(revision.source_config.resource_spec),
    limits: unitLimitsOf(revision.source_config.resource_spec),
  }
}
