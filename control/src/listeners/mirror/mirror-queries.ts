/** The table `mirrored_deployments`, and the rows that mirror those of the control plane. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { WantedDeployment, WantedIntegration } from "../exchange/exchange.js"

export interface Mirrored {
  readonly deployment_id: string
  readonly version: string
  readonly problem: string | null
  readonly is_deleted: boolean
  /** Whether the deployment itself is there; it may be about to be removed. */
  readonly is_here: boolean
}

export const mirroredDeployments = (db: Db): Promise<Mirrored[]> =>
  db.rows(sql`
    select m.*, d.deployment_id is not null as is_here
    from mirrored_deployments m left join deployments d using (deployment_id) order by m.deployment_id`)

export const saveMirrored = (
  tx: Db,
  it: {
    readonly deploymentId: string
    readonly version: string
    readonly problem?: string
    readonly isDeleted: boolean
  },
): Promise<number> =>
  tx.run(sql`
    insert into mirrored_deployments (deployment_id, version, problem, is_deleted)
    values (${it.deploymentId}, ${it.version}, ${it.problem ?? null}, ${it.isDeleted})
    on conflict (deployment_id) do update set version = excluded.version, problem = excluded.problem,
      is_deleted = excluded.is_deleted`)

export const forgetMirrored = (db: Db, deploymentId: string): Promise<number> =>
  db.run(sql`delete from mirrored_deployments where deployment_id = ${deploymentId}`)

export interface DeploymentHere {
  readonly workspace_id: string
  readonly is_deleted: boolean
  readonly latest_revision_id: string | null
}

/** Locks it. */
export const holdHere = (tx: Db, deploymentId: string): Promise<DeploymentHere | undefined> =>
  tx.row(sql`
    select workspace_id, delete_requested_at is not null as is_deleted, latest_revision_id
    from deployments where deployment_id = ${deploymentId} for update`)

export const revisionsHere = async (tx: Db, deploymentId: string): Promise<ReadonlySet<string>> => {
  const rows = await tx.rows<{ revision_id: string }>(
    sql`select revision_id from revisions where deployment_id = ${deploymentId}`,
  )
  return new Set(rows.map(({ revision_id }) => revision_id))
}

export const setWantedRun = (tx: Db, it: WantedDeployment): Promise<number> =>
  tx.run(sql`
    update deployments set desired_run_state = ${it.desired_run_state},
      restart_generation = greatest(restart_generation, ${it.restart_generation})
    where deployment_id = ${it.deployment_id}`)

/** Its name is taken when another integration was deleted at the control plane, and its name given to this one. */
export const saveIntegration = (
  tx: Db,
  workspaceId: string,
  it: WantedIntegration & { readonly sealed: string },
): Promise<number> =>
  tx.run(sql`
    insert into integrations
      (integration_id, workspace_id, kind, name, host, username, token_sealed, auth, ssh_public_key, known_hosts)
    values (${it.integration_id}, ${workspaceId}, 'git', case when exists (select from integrations o
        where o.workspace_id = ${workspaceId} and o.name = ${it.name} and o.integration_id <> ${it.integration_id})
      then ${`${it.name}-${it.integration_id.slice(-12)}`} else ${it.name} end,
      ${it.host}, ${it.username}, ${it.sealed}, ${it.auth}, ${it.ssh_public_key}, ${it.known_hosts})
    on conflict (integration_id) do update set host = excluded.host, username = excluded.username,
      token_sealed = excluded.token_sealed, auth = excluded.auth, ssh_public_key = excluded.ssh_public_key,
      known_hosts = excluded.known_hosts, updated_at = now()
    where integrations.workspace_id = excluded.workspace_id`)

export const addWorkspace = (tx: Db, workspaceId: string, name: string): Promise<number> =>
  tx.run(sql`
    insert into workspaces (workspace_id, name) values (${workspaceId}, ${name}) on conflict (workspace_id) do nothing`)

/** Replaces the keys of a workspace that mirrors one of the control plane. */
export async function replaceCallers(
  tx: Db,
  workspaceId: string,
  keys: readonly { readonly id: string; readonly sha256: string; readonly scope: "run" | "read" }[],
): Promise<void> {
  const hashes = keys.map(({ sha256 }) => sha256)
  await tx.run(sql`
    delete from api_keys where workspace_id = ${workspaceId} and not (sha256 = any(${hashes}::text[]))`)
  await tx.run(sql`
    insert into api_keys (api_key_id, workspace_id, name, prefix, sha256, scopes)
    select id, ${workspaceId}, 'of the control plane', 'ssk_', sha256, array[scope]
    from unnest(${keys.map(({ id }) => id)}::uuid[], ${hashes}::text[], ${keys.map(({ scope }) => scope)}::text[])
      as given (id, sha256, scope)
    on conflict (sha256) do update set scopes = excluded.scopes where api_keys.workspace_id = ${workspaceId}`)
}
