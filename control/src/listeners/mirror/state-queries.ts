/** What is reported of mirrored deployments. */
import type { DeploymentState } from "@superstep/protocol/listener/messages"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { HealthFacts } from "../../health/health.js"
import { healthFacts } from "../../health/health-queries.js"

export interface StateHere {
  readonly deployment_id: string
  readonly problem: string | null
  readonly is_deleted: boolean
  readonly is_here: boolean
  readonly is_ready: boolean
  readonly route_name: string | null
  readonly custom_url: string | null
  readonly active_revision_id: string | null
  readonly health_facts: HealthFacts
  readonly revisions: DeploymentState["revisions"]
}

// What is further back has ended, and was reported when it did.
const reportedRevisions = 20

// It has a few lines of a log, which may be long; twenty of them have to fit into a report.
const longestMessage = 8000

export const statesHere = (db: Db): Promise<StateHere[]> =>
  db.rows(sql`
    select m.deployment_id, m.problem, m.is_deleted, d.deployment_id is not null as is_here,
      coalesce(d.status = 'READY', false) as is_ready, d.route_name, d.source_config ->> 'custom_url' as custom_url,
      d.active_revision_id, ${healthFacts(sql`u.deployment_id = d.deployment_id`)}, coalesce((
        select jsonb_agg(jsonb_build_object('revision_id', r.revision_id, 'status', r.status, 'stage', r.stage,
          'commit_sha', r.commit_sha, 'commit', r.commit, 'stage_started_at', r.stage_started_at,
          'error_code', r.error_code, 'status_message', left(r.status_message, ${longestMessage}), 'orphaned_threads', r.orphaned_threads,
          'pinned_threads', r.pinned_threads, 'started_at', r.started_at, 'finished_at', r.finished_at) order by r.seq)
        from (select * from revisions o where o.deployment_id = d.deployment_id order by o.seq desc
          limit ${reportedRevisions}) r), '[]') as revisions
    from mirrored_deployments m left join deployments d using (deployment_id) order by m.deployment_id`)
