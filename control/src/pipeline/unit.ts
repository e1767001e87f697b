/** A revision's units: their rows, their addresses, and everything that they are started with. */
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { Secret } from "@superstep/toolkit/config/settings"
import type { Db } from "@superstep/toolkit/db/database"
import { v7 as newId } from "uuid"
import { readProjectConfig } from "../builders/project-facts.js"
import { replicasOf } from "../deployments/deployment.js"
import type { RevisionRow } from "../revisions/queries.js"
import type { UnitSpec } from "../runtimes/port.js"
import type { UnitAddress } from "../runtimes/unit-client.js"
import { open, seal } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import { agentEnvOf } from "./agent-env.js"
import { besidesPool, requireConnections, takeConnections } from "./connections.js"
import type { PipelineContext } from "./context.js"
import { addUnit, type CarriedDeployment, type UnitRow, unitsOfRevision } from "./queries.js"
import { deploymentDatabaseUri } from "./queue-stage.js"
import { memoryMbOf, unitLimitsOf } from "./unit-limits.js"
import { nodeOfArtifact } from "./unit-node.js"

/**
 * The units of a revision, as many as it asks for. They are added when they are asked for the first time, all or none.
 * @throws NoConnections  there is no room for all of them
 */
export function ensureUnits(
  { db, key, limits }: Pick<PipelineContext, "db" | "key" | "limits">,
  revision: Pick<RevisionRow, "revision_id" | "deployment_id" | "source_config">,
): Promise<UnitRow[]> {
  const { revision_id: revisionId, deployment_id: deploymentId } = revision
  return db.transaction(async (tx) => {
    const existing = (await unitsOfRevision(tx, revisionId)).length
    const wanted = replicasOf(revision.source_config)
    await requireConnections(tx, { units: wanted - existing, budget: limits.connections })
    for (let ordinal = 0; ordinal < wanted; ordinal++) {
      const unitId = newId()
      const tokenSealed = seal(key, randomBytes(32).toString("base64url"), contextOf.unit(unitId))
      await addUnit(tx, { unitId, deploymentId, revisionId, ordinal, tokenSealed })
    }
    return existingUnits(tx, revisionId)
  })
}

/** @throws Error  when the revision has none */
export async function existingUnits(db: Db, revisionId: string): Promise<UnitRow[]> {
  const units = await unitsOfRevision(db, revisionId)
  if (units.length === 0) throw new Error(`revision ${revisionId} has no unit`)
  return units
}

export const unitToken = (
  { key }: Pick<PipelineContext, "key">,
  unit: { unit_id: string; token_sealed: string },
): Secret => new Secret(open(key, unit.token_sealed, contextOf.unit(unit.unit_id)))

export const unitAddress = (
  context: PipelineContext,
  unit: Pick<UnitRow, "unit_id" | "token_sealed">,
): UnitAddress => ({
  socketPath: context.runtime.socketPath(unit.unit_id),
  token: unitToken(context, unit),
})

/**
 * What the runtime needs to start a unit, at any time of its life.
 * @throws NoConnections  there is no room for it
 */
export async function unitSpec(
  context: PipelineContext,
  unit: UnitRow,
  revision: RevisionRow,
  deployment: CarriedDeployment,
): Promise<UnitSpec> {
  const { db, key, folders } = context
  if (revision.artifact_id === null) throw new Error(`revision ${revision.revision_id} has no artefact`)
  const artifactFolder = join(folders.artifacts, revision.artifact_id)
  const configPath = revision.source_revision_config.langgraph_config_path ?? "langgraph.json"
  const config = await readProjectConfig(artifactFolder, configPath)
  const agentEnv = await agentEnvOf(context, revision, config.env)
  const connections = await takeConnections(context, unit)
  return {
    unitId: unit.unit_id,
    deploymentId: deployment.deployment_id,
    revisionId: revision.revision_id,
    artifactFolder,
    configPath,
    nodePath: await nodeOfArtifact(context, revision.artifact_id, deployment),
    uidOffset: deployment.uid_offset,
    token: unitToken(context, unit),
    poolSize: connections - besidesPool,
    databaseUri: deploymentDatabaseUri(key, db.uri, deployment),
    agentEnv: Object.fromEntries(Object.entries(agentEnv).map(([name, value]) => [name, new Secret(value)])),
    memoryMb: memoryMbOf(revision.source_config.resource_spec),
    limits: unitLimitsOf(revision.source_config.resource_spec),
  }
}
