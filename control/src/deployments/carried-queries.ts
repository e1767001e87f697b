/** What the pipeline and the planner read of a deployment that they carry out. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { type OrphanRule, type ThreadPinning, usualThreadPinning } from "../revisions/source-config.js"
import type { DeploymentStatus } from "./deployment.js"

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
