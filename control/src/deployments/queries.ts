/** The table `deployments`; each statement is confined to a workspace. */
import type { Db } from "@superstep/toolkit/db/database"
import { joinSql, type Sql, sql } from "@superstep/toolkit/db/sql"
import { toJsonText } from "@superstep/toolkit/http/json"
import type { HealthFacts } from "../health/health.js"
import { healthFacts } from "../health/health-queries.js"
import type { ListenerFacts } from "../health/listener-facts.js"
import { listenerFacts } from "../health/listener-facts-queries.js"
import type { DeploymentType, Source, SourceConfig } from "../revisions/source-config.js"
import type { SourceRevisionConfig } from "../revisions/source-revision-config.js"
import type { Agent, AgentEnvironment, DeploymentStatus } from "./deployment.js"

/** The run state that the owner wants; the units follow. */
export type RunState = "running" | "paused"

export interface DeploymentRow {
  readonly deployment_id: string
  readonly workspace_id: string
  readonly name: string
  readonly route_name: string
  readonly display_name: string | null
  readonly source: Source
  readonly source_config: SourceConfig
  readonly source_revision_config: SourceRevisionConfig
  readonly secrets_version: number
  readonly status: DeploymentStatus
  readonly is_preview: boolean
  readonly latest_revision_id: string | null
  readonly active_revision_id: string | null
  readonly version: number
  readonly desired_run_state: RunState
  readonly restart_generation: number
  readonly agent_id: string | null
  readonly agent_environment: AgentEnvironment | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly delete_requested_at: Date | null
  /** From the latest revision, with what its stages have found out. */
  readonly latest_source: Source | null
  readonly latest_revision_config: SourceRevisionConfig | null
  readonly latest_commit_sha: string | null
  readonly secret_names: readonly string[]
  /** From the units that serve. */
  readonly health_facts: HealthFacts
  /** The listener that carries it out; null: this installation does. */
  readonly listener: ListenerFacts | null
  /** It mirrors a deployment of the control plane of which this installation is a listener. */
  readonly is_mirrored: boolean
}

const selectDeployments = sql`
  select d.*, r.source as latest_source, r.source_revision_config as latest_revision_config,
    r.commit_sha as latest_commit_sha,
    array(select s.name from secrets s
      where s.deployment_id = d.deployment_id and s.secrets_version = d.secrets_version order by s.name) as secret_names,
    ${healthFacts(sql`u.deployment_id = d.deployment_id`)}, ${listenerFacts},
    exists (select from mirrored_deployments m where m.deployment_id = d.deployment_id) as is_mirrored
  from deployments d left join revisions r on r.revision_id = d.latest_revision_id`

export const deploymentById = (db: Db, workspaceId: string, deploymentId: string): Promise<DeploymentRow | undefined> =>
  db.row(sql`${selectDeployments} where d.workspace_id = ${workspaceId} and d.deployment_id = ${deploymentId}`)

/** Locks the row, and with it the right to add revisions and secrets, until the transaction ends. */
export async function lockDeployment(
  tx: Db,
  workspaceId: string,
  deploymentId: string,
): Promise<DeploymentRow | undefined> {
  // Lock first, read second: a single statement would show the joined revision as it was before the wait.
  await tx.run(sql`
    select 1 from deployments where workspace_id = ${workspaceId} and deployment_id = ${deploymentId} for update`)
  return deploymentById(tx, workspaceId, deploymentId)
}

export const idOfName = async (db: Db, workspaceId: string, name: string): Promise<string | undefined> => {
  const row = await db.row<{ deployment_id: string }>(sql`
    select deployment_id from deployments
    where workspace_id = ${workspaceId} and name = ${name} and delete_requested_at is null`)
  return row?.deployment_id
}

/** The deployment of an agent's environment. */
export const idOfAgent = async (db: Db, workspaceId: string, agent: Agent): Promise<string | undefined> => {
  const row = await db.row<{ deployment_id: string }>(sql`
    select deployment_id from deployments
    where workspace_id = ${workspaceId} and agent_id = ${agent.id} and agent_environment = ${agent.environment}
      and delete_requested_at is null`)
  return row?.deployment_id
}

export interface NewDeployment {
  readonly deploymentId: string
  readonly workspaceId: string
  readonly name: string
  readonly routeName: string
  readonly agent: Agent | undefined
  readonly source: Source
  readonly sourceConfig: SourceConfig
  readonly sourceRevisionConfig: SourceRevisionConfig
}

/**
 * A row that conflicts uses up its `number`, and those are few: so names known to be taken are not tried.
 * @returns  false when the name, the route's name or the agent's environment is taken; waits for concurrent inserts of them
 */
export const insertDeployment = async (tx: Db, it: NewDeployment): Promise<boolean> => {
  const inserted = await tx.run(sql`
    insert into deployments (deployment_id, workspace_id, name, route_name, source, integration_id, listener_id, source_config,
      source_revision_config, agent_id, agent_environment, status)
    select ${it.deploymentId}::uuid, ${it.workspaceId}::uuid, ${it.name}, ${it.routeName}, ${it.source},
      ${it.sourceConfig.integration_id}::uuid, ${it.sourceConfig.listener_id ?? null}::uuid, ${toJsonText(it.sourceConfig)}::jsonb,
      ${toJsonText(it.sourceRevisionConfig)}::jsonb, ${it.agent?.id ?? null}, ${it.agent?.environment ?? null},
      'AWAITING_DATABASE'
    where not exists (
      select 1 from deployments
      where delete_requested_at is null and (
        route_name = ${it.routeName} or (workspace_id = ${it.workspaceId} and (name = ${it.name}
          or (agent_id = ${it.agent?.id ?? null} and agent_environment = ${it.agent?.environment ?? null})))
      ))
    on conflict do nothing`)
  return inserted > 0
}

// Those that serve, without those that leave.
const servingUnits = sql`(
  select count(*) from units u join revisions r using (revision_id)
  where u.deployment_id = d.deployment_id and r.role = 'serving' and u.leaving_since is null)`

/** How many units serve a deployment. */
export const findUnits = (
  db: Db,
  deploymentId: string,
): Promise<{ workspace_id: string; source_config: SourceConfig; units: number } | undefined> =>
  db.row(sql`
    select d.workspace_id, d.source_config, ${servingUnits} as units from deployments d where d.deployment_id = ${deploymentId}`)

/** The configs of a workspace's deployments that are not being deleted, and how many units serve each. */
export const sourceConfigsOf = (
  db: Db,
  workspaceId: string,
): Promise<{ source_config: SourceConfig; units: number }[]> =>
  db.rows(sql`
    select d.source_config, ${servingUnits} as units from deployments d where d.workspace_id = ${workspaceId} and d.delete_requested_at is null`)

/** The state that the next revision starts from, after a change. */
export interface DesiredState {
  readonly displayName: string | null
  readonly sourceConfig: SourceConfig
  readonly sourceRevisionConfig: SourceRevisionConfig
  readonly secretsVersion: number
  readonly latestRevisionId: string | null
}

export const updateDesired = (tx: Db, deploymentId: string, desired: DesiredState): Promise<number> =>
  tx.run(sql`
    update deployments set display_name = ${desired.displayName},
      source_config = ${toJsonText(desired.sourceConfig)}::jsonb,
      source_revision_config = ${toJsonText(desired.sourceRevisionConfig)}::jsonb,
      secrets_version = ${desired.secretsVersion}, latest_revision_id = ${desired.latestRevisionId},
      version = version + 1, updated_at = now()
    where deployment_id = ${deploymentId}`)

export const setDesiredRunState = (
  tx: Db,
  { workspaceId, deploymentId }: { workspaceId: string; deploymentId: string },
  runState: RunState,
): Promise<number> =>
  tx.run(sql`
    update deployments set desired_run_state = ${runState}, version = version + 1, updated_at = now()
    where workspace_id = ${workspaceId} and deployment_id = ${deploymentId} and desired_run_state <> ${runState}`)

export const askForRestart = (
  tx: Db,
  { workspaceId, deploymentId }: { workspaceId: string; deploymentId: string },
): Promise<number> =>
  tx.run(sql`
    update deployments set restart_generation = restart_generation + 1, version = version + 1, updated_at = now()
    where workspace_id = ${workspaceId} and deployment_id = ${deploymentId}`)

/** Marks for deletion: the name becomes free, lists hide the deployment, and the pipeline removes its data. */
export const markForDeletion = (tx: Db, deploymentId: string, status: DeploymentStatus): Promise<number> =>
  tx.run(sql`
    update deployments set status = ${status}, delete_requested_at = coalesce(delete_requested_at, now()),
      version = version + 1, updated_at = now()
    where deployment_id = ${deploymentId}`)

export interface DeploymentFilter {
  readonly workspaceId: string
  readonly name?: string | undefined
  readonly nameContains?: string | undefined
  readonly status?: DeploymentStatus | undefined
  readonly deploymentType?: DeploymentType | undefined
  readonly deploymentIds?: readonly string[] | undefined
  readonly agentId?: string | undefined
  readonly agentEnvironment?: AgentEnvironment | undefined
}

/** Deployments that are being deleted are hidden unless a status is requested (CP-D9). */
function conditions(filter: DeploymentFilter): Sql {
  const where: Sql[] = [sql`d.workspace_id = ${filter.workspaceId}`]
  if (filter.name) where.push(sql`d.name = ${filter.name}`)
  if (filter.nameContains) where.push(sql`position(lower(${filter.nameContains}) in d.name) > 0`)
  where.push(filter.status ? sql`d.status = ${filter.status}` : sql`d.delete_requested_at is null`)
  if (filter.deploymentType) where.push(sql`d.source_config ->> 'deployment_type' = ${filter.deploymentType}`)
  if (filter.deploymentIds) where.push(sql`d.deployment_id = any(${filter.deploymentIds}::uuid[])`)
  if (filter.agentId) where.push(sql`d.agent_id = ${filter.agentId}`)
  if (filter.agentEnvironment) where.push(sql`d.agent_environment = ${filter.agentEnvironment}`)
  return joinSql(where, " and ")
}

/** An exact match first, since the CLIs search only the first page (§1.4); then newest first. */
export const findDeployments = (
  db: Db,
  filter: DeploymentFilter,
  page: { limit: number; offset: number },
): Promise<DeploymentRow[]> =>
  db.rows(sql`${selectDeployments} where ${conditions(filter)}
    order by (d.name = ${filter.nameContains ?? ""}) desc, d.created_at desc, d.number desc
    limit ${page.limit} offset ${page.offset}`)

export const countDeployments = async (db: Db, filter: DeploymentFilter): Promise<number> => {
  const row = await db.row<{ total: number }>(
    sql`select count(*) as total from deployments d where ${conditions(filter)}`,
  )
  return row?.total ?? 0
}

export interface UsedRepository {
  readonly repo_url: string
  readonly repo_ref: string | null
}

/** The repositories of an integration's deployments, each once, with the ref of its latest deployment. */
export const repositoriesOf = (db: Db, workspaceId: string, integrationId: string): Promise<UsedRepository[]> =>
  db.rows(sql`
    select distinct on (repo_url) source_config ->> 'repo_url' as repo_url,
      source_revision_config ->> 'repo_ref' as repo_ref
    from deployments
    where workspace_id = ${workspaceId} and integration_id = ${integrationId} and delete_requested_at is null
      and source_config ->> 'repo_url' is not null
    order by repo_url, created_at desc`)

export const markAsPreview = (tx: Db, deploymentId: string): Promise<number> =>
  tx.run(sql`update deployments set is_preview = true where deployment_id = ${deploymentId}`)
