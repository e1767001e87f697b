/** The table `commit_statuses`: a trigger on `revisions` inserts rows, and this module sends them. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { RevisionStatus } from "../revisions/revision.js"
import type { CommitState } from "./commit-status.js"
import type { Provider } from "./push.js"

/** The trigger of `commit_statuses` notifies here that there is something to send. */
export const statusChannel = "superstep_commit_status"

export interface DueStatus {
  readonly revision_id: string
  readonly wanted: CommitState
  readonly attempts: number
  readonly status: RevisionStatus
  readonly error_code: string | null
  readonly status_message: string | null
  readonly sha: string
  readonly repo_url: string
  readonly deployment_id: string
  readonly workspace_id: string
  readonly name: string
  readonly route_name: string
  readonly integration_id: string
  readonly host: string
  /** From the integration's settings; null when they do not set it. */
  readonly provider: Provider | null
}

/** Takes statuses that are due, for as long as one call may take: when the sender dies, they are due again. */
export const takeDueStatuses = (db: Db, leaseMs: number): Promise<DueStatus[]> =>
  db.rows(sql`
    with taken as (
      update commit_statuses set due_at = now() + ${leaseMs} * interval '1 millisecond', attempts = attempts + 1
      where revision_id in (
        select revision_id from commit_statuses where due_at <= now() order by due_at limit 10 for update skip locked)
      returning revision_id, wanted, attempts
    )
    select t.*, r.status, r.error_code, r.status_message, r.source_config ->> 'repo_url' as repo_url,
      coalesce(r.commit_sha, r.source_revision_config ->> 'repo_commit_sha') as sha,
      d.deployment_id, d.workspace_id, d.name, d.route_name, i.integration_id, i.host, w.provider
    from taken t join revisions r using (revision_id) join deployments d using (deployment_id)
      join integrations i on i.workspace_id = d.workspace_id and i.integration_id = d.integration_id
      left join integration_webhooks w on w.integration_id = i.integration_id`)

/** Milliseconds until the next status is due; undefined when none waits. */
export async function nextStatusMs(db: Db): Promise<number | undefined> {
  const row = await db.row<{ due_ms: number | null }>(sql`
    select ceil(extract(epoch from min(due_at) - now()) * 1000)::float8 as due_ms from commit_statuses`)
  return row?.due_ms ?? undefined
}

/** Marks the sent state as done, unless another state is wanted by now. */
export const settleStatus = (
  db: Db,
  it: { revisionId: string; state: CommitState; isSent: boolean; error: string | null },
): Promise<number> =>
  db.run(sql`
    update commit_statuses set sent = case when ${it.isSent} then ${it.state} else sent end, last_error = ${it.error},
      due_at = case when wanted <> ${it.state} then now() end, attempts = 0
    where revision_id = ${it.revisionId}`)

/** Schedules a retry, unless another state is wanted by now. */
export const delayStatus = (
  db: Db,
  it: { revisionId: string; state: CommitState; delayMs: number; error: string },
): Promise<number> =>
  db.run(sql`
    update commit_statuses set last_error = ${it.error},
      due_at = case when wanted = ${it.state} then now() + ${it.delayMs} * interval '1 millisecond' else now() end
    where revision_id = ${it.revisionId}`)

/** Makes statuses that a former process had taken due at once. */
export const freeTakenStatuses = (db: Db): Promise<number> =>
  db.run(sql`update commit_statuses set due_at = now() where due_at is not null`)
