/**
 * Creates, changes, finds and deletes deployments. Those that write are given a transaction, in which the caller also
 * stores the reply of an idempotent request; all of them hold the deployment's row while they write.
 */
import { createHash } from "node:crypto"
import type { Db } from "@superstep/toolkit/db/database"
import { Conflict, InvalidInput, NotFound, PreconditionFailed, Refused } from "@superstep/toolkit/errors/errors"
import { v7 as newId } from "uuid"
import { integrationExists } from "../integrations/operations.js"
import type { SourceRevisionConfig } from "../revisions/revision.js"
import { wakePipeline } from "../revisions/wake-up.js"
import type { MasterKey } from "../secrets/seal.js"
import type { SecretValue } from "../secrets/secret.js"
import { applyChange } from "./apply-change.js"
import {
  emptySourceConfig,
  emptySourceRevisionConfig,
  nextRevisionConfig,
  overlay,
  type Partially,
  type Source,
  type SourceConfig,
  saysSomething,
  startsWithARevision,
  withDefaults,
} from "./deployment.js"
import {
  countDeployments,
  type DeploymentFilter,
  type DeploymentRow,
  deploymentById,
  findDeployments,
  idOfName,
  insertDeployment,
  lockDeployment,
  lockNames,
  markForDeletion,
  type NewDeployment,
} from "./queries.js"
import type { GitProtocol } from "./repository.js"
import { checkSource, checkTarball, checkUnchanged } from "./rules.js"

export interface DeploymentRules {
  /** Seals secrets. */
  readonly key: MasterKey
  readonly gitProtocols: readonly GitProtocol[]
}

export interface CreateDeployment {
  readonly name: string
  readonly source: Source
  readonly sourceConfig: Partially<SourceConfig>
  readonly sourceRevisionConfig: Partially<SourceRevisionConfig>
  readonly secrets: readonly SecretValue[]
}

/**
 * Creates a deployment with its first revision, unless its source starts empty (D1).
 * @throws InvalidInput  the source's rules are broken, or the integration is unknown
 * @throws Refused       see `checkSource`; a secret's name is ours
 * @throws Conflict      the name is taken in this workspace; `conflicting_id` tells by whom
 */
export async function createDeployment(
  tx: Db,
  rules: DeploymentRules,
  workspaceId: string,
  wanted: CreateDeployment,
): Promise<DeploymentRow> {
  const requested = overlay(emptySourceConfig, wanted.sourceConfig)
  const sourceRevisionConfig = overlay(emptySourceRevisionConfig, wanted.sourceRevisionConfig)
  checkSource(wanted.source, requested, sourceRevisionConfig, rules.gitProtocols)
  checkTarball(wanted.sourceRevisionConfig)
  await checkIntegration(tx, workspaceId, requested.integration_id)

  const sourceConfig = settled(wanted.source, requested)
  const { name, source } = wanted
  const deploymentId = newId()
  await takeName(tx, { deploymentId, workspaceId, name, source, sourceConfig, sourceRevisionConfig })
  const deployment = await held(tx, workspaceId, deploymentId)
  return applyChange(tx, rules.key, deployment, {
    secrets: wanted.secrets,
    ...(startsWithARevision(source, sourceRevisionConfig) && { trigger: "create" }),
  })
}

/** With defaults. Only a ready-made image answers on an address of its own; for the others it is ours to tell (D3). */
const settled = (source: Source, config: SourceConfig): SourceConfig =>
  withDefaults(source, source === "external_docker" ? config : { ...config, custom_url: null })

async function checkIntegration(tx: Db, workspaceId: string, integrationId: string | null): Promise<void> {
  if (integrationId === null || (await integrationExists(tx, workspaceId, integrationId))) return
  const path = ["body", "source_config", "integration_id"]
  throw new InvalidInput([{ path, message: `Integration ID ${integrationId} not found.`, type: "value_error" }])
}

/**
 * Stores the deployment under the first free route name: its own, else with a suffix that stays the same for the
 * workspace, so that a deployment which is deleted and made again keeps its address.
 */
async function takeName(tx: Db, deployment: Omit<NewDeployment, "routeName">): Promise<void> {
  const { name, workspaceId, deploymentId } = deployment
  await lockNames(tx, workspaceId)
  const suffix = createHash("sha256").update(workspaceId).digest("hex").slice(0, 6)
  for (const routeName of [name, `${name}-${suffix}`, `${name}-${deploymentId.slice(-12)}`]) {
    if (await insertDeployment(tx, { ...deployment, routeName })) return
    const other = await idOfName(tx, workspaceId, name)
    if (other) {
      throw new Conflict(`A deployment named ${name} exists: choose another name`, "name_taken", {
        conflicting_id: other,
      })
    }
  }
  throw new Conflict(`The address of ${name} is taken: choose another name`, "route_taken")
}

export interface PatchDeployment {
  readonly sourceConfig: Partially<SourceConfig>
  readonly sourceRevisionConfig: Partially<SourceRevisionConfig>
  readonly secrets: readonly SecretValue[]
  readonly displayName?: string | undefined
  /** How the revision's code got here, when not by the deployment's own source. */
  readonly revisionSource?: Source | undefined
  /** The `If-Match` header's versions; undefined when any will do. */
  readonly expectedVersions?: readonly number[] | undefined
}

/**
 * Changes a deployment. A revision follows when its code, secrets or resources change (D2), and exists before this
 * returns: the example client takes the newest revision right after (control-plane §2.1, trap a).
 * @throws NotFound | Conflict | PreconditionFailed | InvalidInput | Refused
 */
export async function patchDeployment(
  tx: Db,
  rules: DeploymentRules,
  { workspaceId, deploymentId }: { workspaceId: string; deploymentId: string },
  patch: PatchDeployment,
): Promise<DeploymentRow> {
  const deployment = await held(tx, workspaceId, deploymentId)
  checkChangeable(deployment, patch.expectedVersions)
  checkUnchanged(deployment.source_config, patch.sourceConfig)
  checkTarball(patch.sourceRevisionConfig)
  const source = sourceOfNext(deployment, patch)
  const next = {
    source,
    sourceConfig: settled(deployment.source, overlay(deployment.source_config, patch.sourceConfig)),
    sourceRevisionConfig: saysSomething(patch.sourceRevisionConfig)
      ? nextRevisionConfig(deployment.source_revision_config, patch.sourceRevisionConfig)
      : deployment.source_revision_config,
  }
  checkPatched(deployment, next, rules.gitProtocols)
  return applyChange(tx, rules.key, deployment, {
    ...next,
    secrets: patch.secrets,
    ...(patch.displayName !== undefined && { displayName: patch.displayName }),
    ...(asksForRevision(patch) && startsWithARevision(source, next.sourceRevisionConfig) && { trigger: "patch" }),
  })
}

const asksForRevision = (patch: PatchDeployment): boolean =>
  saysSomething(patch.sourceRevisionConfig) ||
  patch.secrets.length > 0 ||
  saysSomething({ resource_spec: patch.sourceConfig.resource_spec })

function checkPatched(
  deployment: DeploymentRow,
  next: { source: Source; sourceConfig: SourceConfig; sourceRevisionConfig: SourceRevisionConfig },
  gitProtocols: readonly GitProtocol[],
): void {
  if (next.source === deployment.source) {
    // `deployment_type` cannot change any more; only a new deployment is refused for it.
    const sourceConfig = { ...next.sourceConfig, deployment_type: null }
    checkSource(next.source, sourceConfig, next.sourceRevisionConfig, gitProtocols)
  } else if (!startsWithARevision(next.source, next.sourceRevisionConfig)) {
    const message = "needs what it was made of: an image_uri or a source_tarball_path"
    throw new InvalidInput([{ path: ["body", "revision_source"], message, type: "value_error" }])
  }
}

/** A new ref goes back to the deployment's repository; anything else stays with what the latest revision was made of. */
function sourceOfNext(deployment: DeploymentRow, patch: PatchDeployment): Source {
  if (patch.revisionSource) return patch.revisionSource
  return patch.sourceRevisionConfig.repo_ref ? deployment.source : (deployment.latest_source ?? deployment.source)
}

function checkChangeable(deployment: DeploymentRow, expectedVersions: readonly number[] | undefined): void {
  if (deployment.delete_requested_at) {
    throw new Conflict(`Deployment ID ${deployment.deployment_id} is being deleted.`, "being_deleted")
  }
  if (expectedVersions && !expectedVersions.includes(deployment.version)) {
    throw new PreconditionFailed("The deployment has changed: read it again and repeat the change on what it is now")
  }
}

/**
 * Marks a deployment for deletion and returns at once; the pipeline removes what it has, and then the row (D5).
 * @param force  only for one that is marked already: do not wait for what is still open
 * @throws NotFound | PreconditionFailed
 * @throws Refused  `force` on one that is not marked
 */
export async function deleteDeployment(
  tx: Db,
  { workspaceId, deploymentId }: { workspaceId: string; deploymentId: string },
  { force, expectedVersions }: { force: boolean; expectedVersions?: readonly number[] | undefined },
): Promise<void> {
  const deployment = await held(tx, workspaceId, deploymentId)
  const isMarked = deployment.delete_requested_at !== null
  if (force && !isMarked) {
    throw new Refused("force is only for a deployment that is being deleted already: delete it without force first")
  }
  if (isMarked && !force) return
  if (!isMarked) checkChangeable(deployment, expectedVersions)
  await markForDeletion(tx, deploymentId, force ? "AWAITING_FINAL_DELETE" : "AWAITING_DELETE")
  await wakePipeline(tx, deploymentId)
}

async function held(tx: Db, workspaceId: string, deploymentId: string): Promise<DeploymentRow> {
  const deployment = await lockDeployment(tx, workspaceId, deploymentId)
  if (!deployment) throw notFound(deploymentId)
  return deployment
}

const notFound = (deploymentId: string) => new NotFound(`Deployment ID ${deploymentId} not found.`)

/** @throws NotFound  also for deployments of other workspaces */
export async function findDeployment(db: Db, workspaceId: string, deploymentId: string): Promise<DeploymentRow> {
  const deployment = await deploymentById(db, workspaceId, deploymentId)
  if (!deployment) throw notFound(deploymentId)
  return deployment
}

export async function listDeployments(
  db: Db,
  filter: DeploymentFilter,
  page: { limit: number; offset: number },
): Promise<{ rows: DeploymentRow[]; total: number }> {
  const [rows, total] = await Promise.all([findDeployments(db, filter, page), countDeployments(db, filter)])
  return { rows, total }
}
