/** The table `listener_reports`. Callers hold the deployment. */
import type { DeploymentState } from "@superstep/protocol/listener/messages"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

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
