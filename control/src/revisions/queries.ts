/** The table `revisions`, for the API; the pipeline's writes are in `claims.ts`. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { toJsonText } from "@superstep/toolkit/http/json"
import type { HealthFacts } from "../health/health.js"
import { healthFacts } from "../health/health-queries.js"
import type { ListenerFacts } from "../health/listener-facts.js"
import { listenerFacts } from "../health/listener-facts-queries.js"
import type { Commit, ErrorCode, Reason, RevisionStatus, Role, Stage, Trigger } from "./revision.js"
import type { Source, SourceConfig } from "./source-config.js"
import type { SourceRevisionConfig } from "./source-revision-config.js"

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
  readonly commit: Commit | null
  readonly artifact_id: string | null
  readonly pinned_threads: number
  /** Paused threads that it could not go on with, seen before its switch; null: they were not looked at. */
  readonly orphaned_threads: number | null
  readonly role: Role | null
  /** The percentage of the threads that it gets, or is to get, beside the revision that serves; 100: it is to take over; 0: it is to be aborted; null: it takes over. */
  readonly weight: number | null
  readonly actor: string | null
  /** What it is for, as the caller says. */
  readonly message: string | null
  /** The revision that this one repeats; never one that is itself a repetition. */
  readonly repeats_revision_id: string | null
  /** When each stage first started, by stage. */
  readonly stage_started_at: Readonly<Partial<Record<Stage, string>>>
  readonly error_code: ErrorCode | null
  readonly status_message: string | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly started_at: Date | null
  readonly finished_at: Date | null
}

/** A revision as readers see it. */
export interface SeenRevision extends RevisionRow {
  /** From the units that serve with it. */
  readonly health_facts: HealthFacts
  /** The listener that carries it out; null: this installation does. */
  readonly listener: ListenerFacts | null
  readonly is_active: boolean | null
  /** The weight of its deployment's canary. */
  readonly canary_weight: number | null
  readonly runs_ended: number
  readonly runs_failed: number
  /** Of its version of the secrets, in the order of the alphabet. */
  readonly secret_names: readonly string[]
  /** The uploaded archive that it is made from. */
  readonly upload: { readonly sha256: string; readonly size_bytes: number; readonly uploaded_at: string } | null
}

export interface NewRevision {
  readonly revisionId: string
  readonly deploymentId: string
  readonly trigger: Trigger
  readonly source: Source
  readonly sourceConfig: SourceConfig
  readonly sourceRevisionConfig: SourceRevisionConfig
  readonly secretsVersion: number
  readonly actor?: string | undefined
  readonly message?: string | undefined
  /** The percentage of the threads that it gets first; null: it takes over at once. */
  readonly weight: number | null
  /** The revision of the same deployment that this one repeats. */
  readonly repeats?: string | undefined
}

/** Adds a revision after the others of its deployment. The caller holds that row: otherwise two would get one number. */
export const insertRevision = (tx: Db, revision: NewRevision): Promise<RevisionRow | undefined> =>
  tx.row(sql`
    with before as (select * from revisions where deployment_id = ${revision.deploymentId})
    insert into revisions (revision_id, deployment_id, seq, status, stage, trigger, source, source_config,
      source_revision_config, secrets_version, actor, message, weight, repeats_revision_id)
    select ${revision.revisionId}, ${revision.deploymentId}, (select coalesce(max(seq), 0) + 1 from before), 'CREATING',
      'queue', ${revision.trigger}, ${revision.source}, ${toJsonText(revision.sourceConfig)}::jsonb,
      ${toJsonText(revision.sourceRevisionConfig)}::jsonb, ${revision.secretsVersion}, ${revision.actor ?? null},
      ${revision.message ?? null}, ${revision.weight}::integer,
      (select coalesce(repeats_revision_id, revision_id) from before where revision_id = ${revision.repeats ?? null})
    returning *`)

const ofDeployment = (workspaceId: string, deploymentId: string) => sql`
  from revisions r join deployments d using (deployment_id)
  where d.workspace_id = ${workspaceId} and d.deployment_id = ${deploymentId}`

const seen = sql`r.*, ${healthFacts(sql`u.revision_id = r.revision_id`)}, ${listenerFacts},
  r.revision_id = d.active_revision_id as is_active,
  (select weight from revisions c where c.deployment_id = r.deployment_id and c.role = 'canary') as canary_weight,
  (select coalesce(sum(runs_ended), 0)::bigint from units u where u.revision_id = r.revision_id) as runs_ended,
  (select coalesce(sum(runs_failed), 0)::bigint from units u where u.revision_id = r.revision_id) as runs_failed,
  array(select s.name from secrets s where s.deployment_id = r.deployment_id and s.secrets_version = r.secrets_version
    order by s.name) as secret_names,
  (select jsonb_build_object('sha256', p.sha256, 'size_bytes', p.size_bytes, 'uploaded_at', p.stored_at) from uploads p
    where p.deployment_id = r.deployment_id and p.stored_at is not null
      and r.source_revision_config ->> 'source_tarball_path' = p.deployment_id || '/' || p.upload_id || '.tar.gz') as upload`

export const revisionById = (
  db: Db,
  { workspaceId, deploymentId, revisionId }: { workspaceId: string; deploymentId: string; revisionId: string },
): Promise<SeenRevision | undefined> =>
  db.row(sql`select ${seen} ${ofDeployment(workspaceId, deploymentId)} and r.revision_id = ${revisionId}`)

/** Revisions that the pipeline still works on, newest first. */
export const unfinishedRevisions = (tx: Db, workspaceId: string, deploymentId: string): Promise<RevisionRow[]> =>
  tx.rows(sql`
    select r.* ${ofDeployment(workspaceId, deploymentId)} and r.stage is not null order by r.seq desc`)

/**
 * The target of a rollback: the newest revision that served well before the one that serves now. If that one itself repeats
 * an earlier one, the newest before the earlier one: two rollbacks go back twice.
 */
export const lastGoodRevision = (tx: Db, workspaceId: string, deploymentId: string): Promise<RevisionRow | undefined> =>
  tx.row(sql`
    select r.* from deployments d
    join revisions r using (deployment_id)
    left join revisions active on active.revision_id = d.active_revision_id
    left join revisions origin on origin.revision_id = coalesce(active.repeats_revision_id, active.revision_id)
    where d.workspace_id = ${workspaceId} and d.deployment_id = ${deploymentId}
      and r.status = 'DEPLOYED' and r.error_code is null and (origin.seq is null or r.seq < origin.seq)
    order by r.seq desc limit 1`)

export interface RevisionFilter {
  readonly workspaceId: string
  readonly deploymentId: string
  readonly status?: RevisionStatus | undefined
}

const filtered = ({ workspaceId, deploymentId, status }: RevisionFilter) =>
  status
    ? sql`${ofDeployment(workspaceId, deploymentId)} and r.status = ${status}`
    : ofDeployment(workspaceId, deploymentId)

/** Newest first. Numbers follow the order of creation and, unlike times, are never equal (V2). */
export const findRevisions = (
  db: Db,
  filter: RevisionFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<SeenRevision[]> =>
  db.rows(sql`select ${seen} ${filtered(filter)} order by r.seq desc limit ${limit} offset ${offset}`)

export const countRevisions = async (db: Db, filter: RevisionFilter): Promise<number> => {
  const row = await db.row<{ total: number }>(sql`select count(*) as total ${filtered(filter)}`)
  return row?.total ?? 0
}

/** Stores a reason on a revision whose status stays. */
export const recordReason = (tx: Db, revisionId: string, { code, message }: Reason): Promise<number> =>
  tx.run(sql`
    update revisions set error_code = ${code}, status_message = ${message}, updated_at = superstep_now()
    where revision_id = ${revisionId}`)

/** Stores how many paused threads a new revision could not go on with. */
export const recordOrphans = (db: Db, revisionId: string, orphaned: number): Promise<number> =>
  db.run(sql`update revisions set orphaned_threads = ${orphaned} where revision_id = ${revisionId}`)

/** Takes every unfinished revision from its process, which notices at its next renewal. */
export const endPipelineOf = (db: Db, deploymentId: string): Promise<number> =>
  db.run(sql`
    update revisions set stage = null, lease_owner = null, lease_until = null, fence = fence + 1, updated_at = superstep_now(),
      status = case status when 'DEPLOYED' then status else 'INTERRUPTED' end,
      error_code = case status when 'DEPLOYED' then error_code else 'interrupted' end,
      finished_at = coalesce(finished_at, superstep_now())
    where deployment_id = ${deploymentId} and stage is not null`)

/**
 * Takes over what the stages have found out at a listener. A revision that was interrupted here stays so, until its listener says how it
 * has ended: it may have been past its switch.
 */
export const takeReportedRevisions = (tx: Db, deploymentId: string, revisions: readonly object[]): Promise<number> =>
  tx.run(sql`
    update revisions r set status = it.status, stage = it.stage, commit_sha = it.commit_sha, commit = it.commit,
      stage_started_at = it.stage_started_at, error_code = it.error_code, status_message = it.status_message,
      orphaned_threads = it.orphaned_threads, pinned_threads = it.pinned_threads, started_at = it.started_at,
      finished_at = it.finished_at, updated_at = superstep_now()
    from jsonb_to_recordset(${JSON.stringify(revisions)}::jsonb) as it (
      revision_id uuid, status text, stage text, commit_sha text, commit jsonb, stage_started_at jsonb, error_code text,
      status_message text, orphaned_threads integer, pinned_threads integer, started_at timestamptz, finished_at timestamptz)
    where r.deployment_id = ${deploymentId} and r.revision_id = it.revision_id
      and (r.status <> 'INTERRUPTED' or it.stage is null)
      and (r.status, r.stage, r.commit_sha, r.stage_started_at, r.error_code, r.status_message, r.orphaned_threads,
          r.pinned_threads, r.finished_at)
        is distinct from (it.status, it.stage, it.commit_sha, it.stage_started_at, it.error_code, it.status_message,
          it.orphaned_threads, it.pinned_threads, it.finished_at)`)
