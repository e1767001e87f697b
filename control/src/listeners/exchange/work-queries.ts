/** What the deployments of a listener should be. Each statement is confined to one listener. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { RunState } from "../../deployments/queries.js"
import type { RevisionStatus, Stage, Trigger } from "../../revisions/revision.js"
import type { Source, SourceConfig } from "../../revisions/source-config.js"
import type { SourceRevisionConfig } from "../../revisions/source-revision-config.js"

/** Changes with everything that a listener has to know of a deployment: its own version counts the changes by callers. */
const version = sql`d.version || '.' || (
    select md5(coalesce(string_agg(r.revision_id::text, ' ' order by r.seq), '')) from revisions r
    where r.deployment_id = d.deployment_id and r.status = 'INTERRUPTED') || '.'
  || coalesce((select extract(epoch from i.updated_at)::text from integrations i where i.integration_id = d.integration_id), '')`

export interface AssignedDeployment {
  readonly deployment_id: string
  readonly version: string
}

/** Those that are being deleted first: the names that they have may be given to others already. */
export const assignedDeployments = (db: Db, listenerId: string): Promise<AssignedDeployment[]> =>
  db.rows(sql`
    select d.deployment_id, ${version} as version from deployments d where d.listener_id = ${listenerId}
    order by d.delete_requested_at nulls last, d.created_at, d.deployment_id`)

export interface AssignedRow extends AssignedDeployment {
  readonly workspace_id: string
  readonly name: string
  readonly display_name: string | null
  readonly source: Source
  readonly source_config: SourceConfig
  readonly source_revision_config: SourceRevisionConfig
  readonly secrets_version: number
  readonly desired_run_state: RunState
  readonly restart_generation: number
  readonly active_revision_id: string | null
  readonly integration_id: string | null
  readonly is_deleted: boolean
}

export const assignedDeployment = (
  db: Db,
  listenerId: string,
  deploymentId: string,
): Promise<AssignedRow | undefined> =>
  db.row(sql`
    select d.*, ${version} as version, d.delete_requested_at is not null as is_deleted
    from deployments d where d.listener_id = ${listenerId} and d.deployment_id = ${deploymentId}`)

export interface AssignedRevision {
  readonly revision_id: string
  readonly status: RevisionStatus
  readonly stage: Stage | null
  readonly trigger: Trigger
  readonly source: Source
  readonly source_config: SourceConfig
  readonly source_revision_config: SourceRevisionConfig
  readonly secrets_version: number
  readonly actor: string | null
  readonly repeats_revision_id: string | null
  readonly message: string | null
  readonly commit_sha: string | null
  readonly archive: { readonly upload_id: string; readonly sha256: string; readonly size_bytes: number } | null
}

// An interruption further back was carried out long ago, or its revision is superseded.
const lookedAt = 20

/** Those with work, the active one and those that were interrupted of late; oldest first. */
export const assignedRevisions = (db: Db, deploymentId: string): Promise<AssignedRevision[]> =>
  db.rows(sql`
    select r.revision_id, r.status, r.stage, r.trigger, r.source, r.source_config, r.source_revision_config,
      r.secrets_version, r.actor, r.repeats_revision_id, r.message, r.commit_sha, (
        select jsonb_build_object('upload_id', u.upload_id, 'sha256', u.sha256, 'size_bytes', u.size_bytes)
        from uploads u where u.deployment_id = r.deployment_id and u.stored_at is not null and u.removed_at is null
          and r.source_revision_config ->> 'source_tarball_path' = u.deployment_id || '/' || u.upload_id || '.tar.gz'
      ) as archive
    from revisions r join deployments d using (deployment_id)
    where r.deployment_id = ${deploymentId} and (r.stage is not null or r.revision_id = d.active_revision_id
      or (r.status = 'INTERRUPTED'
        and r.seq > (select max(o.seq) from revisions o where o.deployment_id = r.deployment_id) - ${lookedAt}))
    order by r.seq`)

/** An archive that a revision of the listener may still need. */
export const assignedArchive = (
  db: Db,
  listenerId: string,
  uploadId: string,
): Promise<{ upload_id: string; transfer_id: string } | undefined> =>
  db.row(sql`
    select u.upload_id, u.transfer_id from uploads u join deployments d using (deployment_id)
    where d.listener_id = ${listenerId} and u.upload_id = ${uploadId} and u.transfer_id is not null
      and u.removed_at is null`)

export const integrationOf = (
  db: Db,
  integrationId: string,
): Promise<{ name: string; ssh_public_key: string | null } | undefined> =>
  db.row(sql`select name, ssh_public_key from integrations where integration_id = ${integrationId}`)
