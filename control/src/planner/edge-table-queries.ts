/** The table `edge_tables`, and what the edge's table holds. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { PreflightRule } from "@superstep/toolkit/http/cross-origin"
import type { Role } from "../revisions/revision.js"

/**
 * All that the edge's table needs, one row for each unit that serves or stands by. A unit that is not ready gets no
 * requests.
 */
export interface RouteRow {
  readonly name: string
  readonly deployment_id: string
  readonly revision_id: string
  readonly workspace_id: string
  readonly unit_id: string
  /** The role of the unit's revision. */
  readonly role: Role
  readonly token_sealed: string
  readonly is_ready: boolean
  readonly is_paused: boolean
  readonly deployment_type: string | null
  readonly cross_origin: PreflightRule | null
  /** A wake-up was refused a moment ago, since there is no room. */
  readonly is_refused: boolean
}

/** Units that serve or stand by. */
export const servingRoutes = (db: Db): Promise<RouteRow[]> =>
  db.rows(sql`
    select d.route_name as name, d.deployment_id, u.revision_id, d.workspace_id, u.unit_id, r.role, u.token_sealed,
      u.is_ready, d.desired_run_state = 'paused' as is_paused, coalesce(s.refused_until > superstep_now(), false) as is_refused,
      d.source_config ->> 'deployment_type' as deployment_type, u.cross_origin
    from units u join revisions r using (revision_id) join deployments d on d.deployment_id = u.deployment_id
      left join sleeps s on s.deployment_id = u.deployment_id
    where d.delete_requested_at is null and r.role in ('serving', 'standby')
    order by d.route_name, u.ordinal, u.unit_id`)

/** Locks the row, so that tables are numbered one after the other. */
export const lockEdgeTable = (tx: Db): Promise<{ generation: number; content_sha256: string } | undefined> =>
  tx.row(sql`select generation, content_sha256 from edge_tables for update`)

export const saveEdgeTable = (tx: Db, generation: number, contentSha256: string): Promise<number> =>
  tx.run(sql`update edge_tables set generation = ${generation}, content_sha256 = ${contentSha256}`)

/** Milliseconds until the table changes by the passing of time alone: a key expires, or a deployment may be woken again. */
export async function nextTableChangeMs(db: Db): Promise<number | undefined> {
  const row = await db.row<{ due_ms: number | null }>(sql`
    select ceil(extract(epoch from min(at) - superstep_now()) * 1000)::float8 as due_ms from (
      select min(expires_at) as at from api_keys where expires_at > superstep_now() and revoked_at is null
      union all select min(refused_until) from sleeps where refused_until > superstep_now()
    ) changes`)
  return row?.due_ms ?? undefined
}
