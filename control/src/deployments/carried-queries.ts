/** What is read and written of a deployment by those who carry it out: the pipeline, the planner, listeners, and restores. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { type OrphanRule, type ThreadPinning, usualThreadPinning } from "../revisions/source-config.js"
import type { DeploymentStatus } from "./deployment.js"
import type { DeploymentRow } from "./queries.js"

/** A deployment as its stages and its units need it. */
export interface CarriedDeployment {
  readonly deployment_id: string
  readonly workspace_id: string
  readonly route_name: string
  readonly status: DeploymentStatus
  readonly active_revision_id: string | null
  readonly database_name: string | null
  readonly database_password_sealed: string | null
  readonly number: number
  readonly desired_run_state: "running" | "paused"
  /** `paused` in place of `none` where the newest revision has orphaned threads, which are to be pinned. */
  readonly thread_pinning: ThreadPinning
  readonly on_orphaned_threads: OrphanRule
}

const deploymentColumns = sql`deployment_id, workspace_id, route_name, status, active_revision_id, database_name,
  database_password_sealed, number, desired_run_state,
  coalesce(source_config ->> 'on_orphaned_threads', 'warn') as on_orphaned_threads,
  case when source_config ->> 'thread_pinning' = 'none' and source_config ->> 'on_orphaned_threads' = 'pin' and (
      select r.orphaned_threads > 0 from revisions r
      where r.deployment_id = deployments.deployment_id and r.role in ('starting', 'canary', 'serving')
      order by r.seq desc limit 1)
    then 'paused' else coalesce(source_config ->> 'thread_pinning', ${usualThreadPinning}) end as thread_pinning`

export const deploymentById = (db: Db, deploymentId: string): Promise<CarriedDeployment | undefined> =>
  db.row(sql`select ${deploymentColumns} from deployments where deployment_id = ${deploymentId}`)

/** Deployments whose deletion was requested. */
export const deploymentsToDelete = (db: Db): Promise<CarriedDeployment[]> =>
  db.rows(sql`select ${deploymentColumns} from deployments where delete_requested_at is not null`)

/** Stores name and password of the database before it is created. The first call wins, and its password counts. */
export const nameDatabase = (db: Db, deploymentId: string, name: string, passwordSealed: string): Promise<number> =>
  db.run(sql`
    update deployments set database_name = ${name}, database_password_sealed = ${passwordSealed}
    where deployment_id = ${deploymentId} and database_name is null and delete_requested_at is null`)

/** @returns  0 when the deployment is to be deleted */
export const markReady = (db: Db, deploymentId: string): Promise<number> =>
  db.run(sql`
    update deployments set updated_at = superstep_now(),
      status = case status when 'AWAITING_DATABASE' then 'READY' else status end
    where deployment_id = ${deploymentId} and delete_requested_at is null`)

export const setDeploymentStatus = (db: Db, deploymentId: string, status: DeploymentStatus): Promise<number> =>
  db.run(
    sql`update deployments set status = ${status}, updated_at = superstep_now() where deployment_id = ${deploymentId}`,
  )

export async function removeDeployment(tx: Db, deploymentId: string): Promise<void> {
  await tx.run(sql`
    update deployments set latest_revision_id = null, active_revision_id = null where deployment_id = ${deploymentId}`)
  await tx.run(sql`delete from deployments where deployment_id = ${deploymentId}`)
}

/** @returns  0 when the deployment is gone */
export const storeDiskUse = (db: Db, deploymentId: string, diskMb: number): Promise<number> =>
  db.run(sql`update deployments set disk_mb = ${diskMb} where deployment_id = ${deploymentId}`)

export const restoreRunState = (tx: Db, deploymentId: string, runState: string): Promise<number> =>
  tx.run(
    sql`update deployments set desired_run_state = ${runState}, updated_at = superstep_now() where deployment_id = ${deploymentId}`,
  )

/** Of a deployment that mirrors one of the control plane. */
export const setWantedRun = (
  tx: Db,
  it: Pick<DeploymentRow, "deployment_id" | "desired_run_state" | "restart_generation">,
): Promise<number> =>
  tx.run(sql`
    update deployments set desired_run_state = ${it.desired_run_state},
      restart_generation = greatest(restart_generation, ${it.restart_generation})
    where deployment_id = ${it.deployment_id}`)

/** What its listener reports: readiness, and the revision that serves. */
export const takeReportedState = (
  tx: Db,
  deploymentId: string,
  it: { readonly is_ready: boolean; readonly active_revision_id: string | null },
): Promise<number> =>
  tx.run(sql`
    update deployments d set updated_at = superstep_now(), active_revision_id = coalesce(r.revision_id, d.active_revision_id),
      status = case when d.status = 'AWAITING_DATABASE' and ${it.is_ready} then 'READY' else d.status end
    from (select) one left join revisions r
      on r.deployment_id = ${deploymentId} and r.revision_id = ${it.active_revision_id}
    where d.deployment_id = ${deploymentId}
      and (d.active_revision_id is distinct from coalesce(r.revision_id, d.active_revision_id)
        or (d.status = 'AWAITING_DATABASE' and ${it.is_ready}))`)
