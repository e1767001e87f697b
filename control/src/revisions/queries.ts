/** The table `revisions`, as the API reads and adds to it; what the pipeline writes is in `claims.ts`. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { Source, SourceConfig } from "../deployments/deployment.js"
import type { ErrorCode, RevisionStatus, SourceRevisionConfig, Stage, Trigger } from "./revision.js"

export interface RevisionRow {
  readonly revision_id: string
  readonly deployment_id: string
  readonly seq: number
  readonly status: RevisionStatus
  readonly stage: Stage | null
  readonly trigger: Trigger
  readonly source: Source
  readonly source_config: SourceConfig
  readonly source_revision_config: SourceRevisionConfig
  readonly secrets_version: number
  readonly commit_sha: string | null
  readonly commit: { readonly sha: string; readonly message: string; readonly author: string } | null
  readonly artifact_id: string | null
  readonly error_code: ErrorCode | null
  readonly status_message: string | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly started_at: Date | null
  readonly finished_at: Date | null
}

export interface NewRevision {
  readonly revisionId: string
  readonly deploymentId: string
  readonly trigger: Trigger
  readonly source: Source
  readonly sourceConfig: SourceConfig
  readonly sourceRevisionConfig: SourceRevisionConfig
  readonly secretsVersion: number
}

/** Adds a revision behind the others of its deployment, whose row the caller holds: else two would get one number. */
export const insertRevision = (tx: Db, revision: NewRevision): Promise<RevisionRow | undefined> =>
  tx.row(sql`
    insert into revisions (revision_id, deployment_id, seq, status, stage, trigger, source, source_config,
      source_revision_config, secrets_version)
    select ${revision.revisionId}, ${revision.deploymentId}, coalesce(max(seq), 0) + 1, 'CREATING', 'queue',
      ${revision.trigger}, ${revision.source}, ${JSON.stringify(revision.sourceConfig)}::jsonb,
      ${JSON.stringify(revision.sourceRevisionConfig)}::jsonb, ${revision.secretsVersion}
    from revisions where deployment_id = ${revision.deploymentId}
    returning *`)

const ofDeployment = (workspaceId: string, deploymentId: string) => sql`
  from revisions r join deployments d using (deployment_id)
  where d.workspace_id = ${workspaceId} and d.deployment_id = ${deploymentId}`

export const revisionById = (
  db: Db,
  { workspaceId, deploymentId, revisionId }: { workspaceId: string; deploymentId: string; revisionId: string },
): Promise<RevisionRow | undefined> =>
  db.row(sql`select r.* ${ofDeployment(workspaceId, deploymentId)} and r.revision_id = ${revisionId}`)

export interface RevisionFilter {
  readonly workspaceId: string
  readonly deploymentId: string
  readonly status?: RevisionStatus | undefined
}

const filtered = ({ workspaceId, deploymentId, status }: RevisionFilter) =>
  status
    ? sql`${ofDeployment(workspaceId, deploymentId)} and r.status = ${status}`
    : ofDeployment(workspaceId, deploymentId)

/** Newest first. Numbers follow creation and, unlike times, never tie (V2). */
export const findRevisions = (
  db: Db,
  filter: RevisionFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<RevisionRow[]> =>
  db.rows(sql`select r.* ${filtered(filter)} order by r.seq desc limit ${limit} offset ${offset}`)

export const countRevisions = async (db: Db, filter: RevisionFilter): Promise<number> => {
  const row = await db.row<{ total: number }>(sql`select count(*) as total ${filtered(filter)}`)
  return row?.total ?? 0
}
