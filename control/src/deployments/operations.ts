/**
 * Creates, finds and deletes deployments; `change.ts` and its neighbours change them. Functions that write get a
 * transaction, in which the caller also stores the reply of an idempotent request.
 */
import { createHash } from "node:crypto"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict, InvalidInput, KnownError, NotFound, Refused } from "@superstep/toolkit/errors/errors"
import { v7 as newId } from "uuid"
import { recordNoEffect, recordResource } from "../audit/current-write.js"
import { removeHostNamesOf } from "../host-names/queries.js"
import { integrationExists } from "../integrations/operations.js"
import type { QuotaRules } from "../quotas/operations.js"
import { endPipelineOf } from "../revisions/queries.js"
import type { GitProtocol } from "../revisions/repository.js"
import type { Source, SourceConfig } from "../revisions/source-config.js"
import type { SourceRevisionConfig } from "../revisions/source-revision-config.js"
import { wakePipeline } from "../revisions/wake-up.js"
import type { MasterKey } from "../secrets/seal.js"
import type { SecretValue } from "../secrets/secret.js"
import { lockWorkspace } from "../workspaces/queries.js"
import { applyChange } from "./apply-change.js"
import {
  type Agent,
  emptySourceConfig,
  emptySourceRevisionConfig,
  nameOfAgent,
  overlay,
  type Partially,
  settled,
  startsWithARevision,
} from "./deployment.js"
import { checkOwn, checkVersion, type DeploymentIds, deploymentNotFound, holdDeployment } from "./hold.js"
import {
  countDeployments,
  type DeploymentFilter,
  type DeploymentRow,
  deploymentById,
  findDeployments,
  idOfAgent,
  idOfName,
  insertDeployment,
  markForDeletion,
  type NewDeployment,
} from "./queries.js"
import { requireRoom } from "./room.js"
import { checkNoTarball, checkScale, checkSource } from "./rules.js"

export interface DeploymentRules extends QuotaRules {
  /** Encrypts secrets. */
  readonly key: MasterKey
  readonly gitProtocols: readonly GitProtocol[]
  /** Whether the workspace has this listener, which then stays until the transaction has ended. */
  readonly listenerExists: (tx: Db, workspaceId: string, listenerId: string) => Promise<boolean>
}

export interface CreateDeployment {
  /** Optional if the deployment belongs to an agent. */
  readonly name?: string | undefined
  readonly agent?: Agent | undefined
  readonly source: Source
  readonly sourceConfig: Partially<SourceConfig>
  readonly sourceRevisionConfig: Partially<SourceRevisionConfig>
  readonly secrets: readonly SecretValue[]
  /** What the first revision is for. */
  readonly message?: string | undefined
  /** The caller, such as `api_key:<id>`. */
  readonly actor?: string | undefined
}

/**
 * Creates a deployment with its first revision, unless its source starts empty (D1).
 * @throws InvalidInput  the source's rules are broken, or the integration is unknown
 * @throws Refused       see `checkSource`; or a secret has a reserved name
 * @throws Conflict      the name or the agent's environment is taken, by the deployment in `conflicting_id`
 * @throws Conflict      it exceeds a quota of the workspace
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
  checkScale(wanted.sourceConfig.resource_spec)
  checkNoTarball(wanted.sourceRevisionConfig)
  await checkReferences(tx, rules, workspaceId, requested)

  const { source, agent, actor, message } = wanted
  const sourceConfig = settled(source, requested)
  const name = wanted.name ?? nameOfAgent(agent)
  const deploymentId = newId()
  await requireRoom(tx, rules, { workspaceId, wanted: sourceConfig })
  await takeName(tx, { deploymentId, workspaceId, name, agent, source, sourceConfig, sourceRevisionConfig })
  const deployment = await holdDeployment(tx, { workspaceId, deploymentId })
  return applyChange(tx, rules.key, deployment, {
    secrets: wanted.secrets,
    actor,
    message,
    ...(startsWithARevision(source, sourceRevisionConfig) && { trigger: "create" }),
  })
}

/** @throws InvalidInput  the workspace does not have the integration or the listener */
async function checkReferences(
  tx: Db,
  { listenerExists }: DeploymentRules,
  workspaceId: string,
  { integration_id, listener_id }: SourceConfig,
): Promise<void> {
  const unknown = (field: keyof SourceConfig, message: string) =>
    new InvalidInput([{ path: ["body", "source_config", field], message, type: "value_error" }])
  if (integration_id !== null && !(await integrationExists(tx, workspaceId, integration_id)))
    throw unknown("integration_id", `Integration ID ${integration_id} not found.`)
  if (listener_id !== null && !(await listenerExists(tx, workspaceId, listener_id)))
    throw unknown("listener_id", `Listener ID ${listener_id} not found.`)
}

/**
 * Stores the deployment under the first free route name: its own, or one with a suffix that is stable for the workspace, so
 * that a deployment which is deleted and created again keeps its address.
 */
export async function takeName(tx: Db, deployment: Omit<NewDeployment, "routeName">): Promise<void> {
  const { name, workspaceId } = deployment
  await lockWorkspace(tx, workspaceId)
  for (const routeName of routeNames(deployment)) {
    if (await insertDeployment(tx, { ...deployment, routeName })) return
    await requireFree(tx, deployment)
    // The deployment that had the name or the agent may have been deleted since the attempt, and its address is free, too.
    if (await insertDeployment(tx, { ...deployment, routeName })) return
  }
  throw new Conflict(`The address of ${name} is taken: choose another name`, "route_taken")
}

/** @throws Conflict  a deployment of the workspace has the name or the agent's environment */
async function requireFree(
  tx: Db,
  { workspaceId, name, agent }: Pick<NewDeployment, "workspaceId" | "name" | "agent">,
): Promise<void> {
  const other = await idOfName(tx, workspaceId, name)
  if (other) {
    throw new Conflict(`A deployment named ${name} exists: choose another name`, "name_taken", {
      conflicting_id: other,
    })
  }
  const twin = agent && (await idOfAgent(tx, workspaceId, agent))
  if (twin) {
    const words = `Agent ${agent.id} has a deployment for ${agent.environment} already: change it instead`
    throw new Conflict(words, "agent_taken", { conflicting_id: twin })
  }
}

/** The names that a deployment may have in its address, the preferred one first. */
export function routeNames({ name, workspaceId, deploymentId }: DeploymentIds & { readonly name: string }): string[] {
  const suffix = createHash("sha256").update(workspaceId).digest("hex").slice(0, 6)
  return [name, `${name}-${suffix}`, `${name}-${deploymentId.slice(-12)}`]
}

export interface DeleteOptions {
  /** Only for a deployment that is marked already: do not wait for open requests. */
  readonly force: boolean
  readonly expectedVersions?: readonly number[] | undefined
}

/**
 * Marks a deployment for deletion and returns at once; the pipeline removes its data, and then the row (D5).
 * @throws NotFound | PreconditionFailed
 * @throws Refused  `force` on a deployment that is not marked, or one that a control plane decides about
 */
export async function deleteDeployment(
  tx: Db,
  ids: DeploymentIds,
  { force, expectedVersions }: DeleteOptions,
): Promise<void> {
  const deployment = await holdDeployment(tx, ids)
  const isMarked = deployment.delete_requested_at !== null
  if (force && !isMarked) {
    throw new Refused("force is only for a deployment that is being deleted already: delete it without force first")
  }
  if (isMarked && !force) return
  if (!isMarked) {
    checkOwn(deployment)
    checkVersion(deployment, expectedVersions)
  }
  await beginDeletion(tx, ids.deploymentId, force ? "AWAITING_FINAL_DELETE" : "AWAITING_DELETE")
}

/**
 * Marks a deployment that the caller has locked. What works on it stops at once: a stage that went on would look for units that the planner
 * has removed.
 */
export async function beginDeletion(
  tx: Db,
  deploymentId: string,
  status: "AWAITING_DELETE" | "AWAITING_FINAL_DELETE",
): Promise<void> {
  await removeHostNamesOf(tx, deploymentId)
  await endPipelineOf(tx, deploymentId)
  await markForDeletion(tx, deploymentId, status)
  await wakePipeline(tx, deploymentId)
}

export interface Deleted {
  readonly id: string
  readonly status: 204 | 400 | 404
  /** Why it was not deleted. */
  readonly detail: string | null
}

/**
 * Deletes several deployments, each in a transaction with its own entry of the audit log; a failure of one does not stop the
 * others. @returns  the outcome of each, in the order of the request
 */
export async function deleteDeployments(
  db: Database,
  { workspaceId, deploymentIds }: { workspaceId: string; deploymentIds: readonly string[] },
  { force }: { force: boolean },
): Promise<Deleted[]> {
  const results: Deleted[] = []
  for (const deploymentId of new Set(deploymentIds)) {
    recordResource(deploymentId)
    results.push(await deleted(db, { workspaceId, deploymentId }, force))
  }
  if (results.every(({ status }) => status !== 204)) recordNoEffect()
  return results
}

async function deleted(db: Database, ids: DeploymentIds, force: boolean): Promise<Deleted> {
  const id = ids.deploymentId
  try {
    await db.transaction((tx) => deleteDeployment(tx, ids, { force }))
    return { id, status: 204, detail: null }
  } catch (error) {
    if (!(error instanceof KnownError)) throw error
    if (error instanceof NotFound) return { id, status: 404, detail: error.message }
    if (error instanceof Refused) return { id, status: 400, detail: error.message }
    throw error
  }
}

/** @throws NotFound  also for deployments of other workspaces */
export async function findDeployment(db: Db, workspaceId: string, deploymentId: string): Promise<DeploymentRow> {
  const deployment = await deploymentById(db, workspaceId, deploymentId)
  if (!deployment) throw deploymentNotFound(deploymentId)
  return deployment
}

/** A page of the workspace's deployments, and their total number. */
export async function listDeployments(
  db: Db,
  filter: DeploymentFilter,
  page: { limit: number; offset: number },
): Promise<{ rows: DeploymentRow[]; total: number }> {
  const [rows, total] = await Promise.all([findDeployments(db, filter, page), countDeployments(db, filter)])
  return { rows, total }
}

const freeTypes = ["dev_free", "dev_free_zero"] as const

/** The number of the workspace's deployments of free types. */
export const countFree = async (db: Db, workspaceId: string): Promise<number> => {
  const counts = await Promise.all(
    freeTypes.map((deploymentType) => countDeployments(db, { workspaceId, deploymentType })),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}
