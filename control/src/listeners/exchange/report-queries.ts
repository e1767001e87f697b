/** The table `listener_reports`, and what a report changes of a deployment. Callers hold the deployment. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { DeploymentState } from "./exchange.js"

/** Locks a deployment of this listener. @returns  0 when it has no such deployment */
export const holdAssigned = (tx: Db, listenerId: string, deploymentId: string): Promise<number> =>
  tx.run(sql`
    select 1 from deployments where deployment_id = ${deploymentId} and listener_id = ${listenerId} for update`)

export interface ReportCursor {
  readonly reports: number
  readonly log_line_id: number
}

/** Where an installation's reports stand. The numbers of another one, such as one that was set up again, mean nothing. */
export const reportCursor = async (tx: Db, deploymentId: string, homeId: string): Promise<ReportCursor> => {
  const row = await tx.row<ReportCursor>(sql`
    insert into listener_reports as l (deployment_id, home_id) values (${deploymentId}, ${homeId})
    on conflict (deployment_id) do update set home_id = excluded.home_id,
      reports = case when l.home_id = excluded.home_id then l.reports else 0 end,
      log_line_id = case when l.home_id = excluded.home_id then l.log_line_id else 0 end
    returning reports, log_line_id`)
  if (!row) throw new Error("a row that was written is returned")
  return row
}

type Reported = Pick<
  DeploymentState,
  "url" | "active_revision_id" | "health" | "run_state" | "is_restarting" | "problem" | "is_gone"
>

/** An installation that took the place of another one has the address from its first revision that serves; until then callers keep the former. */
export const saveReport = (tx: Db, deploymentId: string, it: Reported & ReportCursor): Promise<number> =>
  tx.run(sql`
    update listener_reports set reports = ${it.reports}, log_line_id = ${it.log_line_id},
      url = case when ${it.active_revision_id}::uuid is null then coalesce(url, ${it.url}) else ${it.url} end,
      health = ${it.health}, run_state = ${it.run_state}, is_restarting = ${it.is_restarting}, problem = ${it.problem},
      is_gone = ${it.is_gone}
    where deployment_id = ${deploymentId}`)

/**
 * Takes over what the stages have found out there. A revision that was interrupted here stays so, until its listener says how it
 * has ended: it may have been past its switch.
 */
export const saveRevisions = (tx: Db, deploymentId: string, revisions: DeploymentState["revisions"]): Promise<number> =>
  tx.run(sql`
    update revisions r set status = it.status, stage = it.stage, commit_sha = it.commit_sha, commit = it.commit,
      stage_started_at = it.stage_started_at, error_code = it.error_code, status_message = it.status_message,
      orphaned_threads = it.orphaned_threads, pinned_threads = it.pinned_threads, started_at = it.started_at,
      finished_at = it.finished_at, updated_at = now()
    from jsonb_to_recordset(${JSON.stringify(revisions)}::jsonb) as it (
      revision_id uuid, status text, stage text, commit_sha text, commit jsonb, stage_started_at jsonb, error_code text,
      status_message text, orphaned_threads integer, pinned_threads integer, started_at timestamptz, finished_at timestamptz)
    where r.deployment_id = ${deploymentId} and r.revision_id = it.revision_id
      and (r.status <> 'INTERRUPTED' or it.stage is null)
      and (r.status, r.stage, r.commit_sha, r.stage_started_at, r.error_code, r.status_message, r.orphaned_threads,
          r.pinned_threads, r.finished_at)
        is distinct from (it.status, it.stage, it.commit_sha, it.stage_started_at, it.error_code, it.status_message,
          it.orphaned_threads, it.pinned_threads, it.finished_at)`)

export const saveDeployment = (
  tx: Db,
  deploymentId: string,
  it: Pick<DeploymentState, "is_ready" | "active_revision_id">,
): Promise<number> =>
  tx.run(sql`
    update deployments d set updated_at = now(), active_revision_id = coalesce(r.revision_id, d.active_revision_id),
      status = case when d.status = 'AWAITING_DATABASE' and ${it.is_ready} then 'READY' else d.status end
    from (select) one left join revisions r
      on r.deployment_id = ${deploymentId} and r.revision_id = ${it.active_revision_id}
    where d.deployment_id = ${deploymentId}
      and (d.active_revision_id is distinct from coalesce(r.revision_id, d.active_revision_id)
        or (d.status = 'AWAITING_DATABASE' and ${it.is_ready}))`)

export const ofDeployment = async (
  tx: Db,
  deploymentId: string,
  revisionIds: readonly string[],
): Promise<ReadonlySet<string>> => {
  const rows = await tx.rows<{ revision_id: string }>(sql`
    select revision_id from revisions where deployment_id = ${deploymentId} and revision_id = any(${revisionIds}::uuid[])`)
  return new Set(rows.map(({ revision_id }) => revision_id))
}

/** Whether a deployment that is being deleted still exists at its listener, and nobody has asked to remove it regardless. */
export const isHeldByListener = async (db: Db, deploymentId: string): Promise<boolean> =>
  (await db.row(sql`
    select from deployments d left join listener_reports l using (deployment_id)
    where d.deployment_id = ${deploymentId} and d.listener_id is not null and d.status <> 'AWAITING_FINAL_DELETE'
      and not coalesce(l.is_gone, false)`)) !== undefined
