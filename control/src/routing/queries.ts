/** The tables `edge_tables` and `route_changes`, and what a route is made of. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { PreflightRule } from "@superstep/toolkit/http/cross-origin"
import type { Role } from "../revisions/revision.js"

/** What a route needs of a unit that serves or stands by. A unit that is not ready gets no requests. */
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

/** The units of these deployments, or of all, that serve or stand by: those of a deployment in order, one after the other. */
export const routeRows = (db: Db, deploymentIds: readonly string[] | undefined): Promise<RouteRow[]> =>
  db.rows(sql`
    select d.route_name as name, d.deployment_id, u.revision_id, d.workspace_id, u.unit_id, r.role, u.token_sealed,
      u.is_ready, d.desired_run_state = 'paused' as is_paused, coalesce(s.refused_until > superstep_now(), false) as is_refused,
      d.source_config ->> 'deployment_type' as deployment_type, u.cross_origin
    from units u join revisions r using (revision_id) join deployments d on d.deployment_id = u.deployment_id
      left join sleeps s on s.deployment_id = u.deployment_id
    where d.delete_requested_at is null and r.role in ('serving', 'standby')
      ${deploymentIds ? sql`and d.deployment_id = any(${deploymentIds})` : sql``}
    order by d.route_name, u.ordinal, u.unit_id`)

export interface RouteChanges {
  /** All routes may have changed. */
  readonly is_all: boolean
  readonly deployment_ids: readonly string[]
  /** The number of the last table. Not that of a reader's own last one: another one has taken notes, or the database has gone back in time. */
  readonly generation: number
  /** The time of this transaction, as Postgres prints it. */
  readonly at: string
}

/**
 * Takes the notes of what has changed, and adds what time alone has changed since `since`: a key expired, or a deployment may be woken again.
 * What commits later is noted for the next call.
 * @param since  `at` of the call before; undefined: everything is read in any case
 */
export async function takeRouteChanges(tx: Db, since: string | undefined): Promise<RouteChanges> {
  const isOver = (time: ReturnType<typeof sql>) => sql`${time} > ${since ?? null} and ${time} <= superstep_now()`
  const row = await tx.row<Omit<RouteChanges, "generation">>(sql`
    with noted as (delete from route_changes returning deployment_id), changed as (
      select deployment_id from noted
      union select deployment_id from sleeps where ${isOver(sql`refused_until`)}
      union select d.deployment_id from api_keys k join deployments d on k.workspace_id is null or d.workspace_id = k.workspace_id
        where ${isOver(sql`k.expires_at`)})
    select superstep_now()::text as at,
      coalesce(bool_or(deployment_id is null), false) as is_all,
      coalesce(array_agg(deployment_id) filter (where deployment_id is not null), '{}') as deployment_ids
    from changed`)
  if (!row) throw new Error("an aggregate has a row")
  // A statement of its own: the one above waits for a control plane that takes notes at the same moment, and would not see its number.
  return { ...row, generation: await presentGeneration(tx) }
}

async function presentGeneration(tx: Db): Promise<number> {
  const row = await tx.row<{ generation: number }>(sql`select generation from edge_tables`)
  if (!row) throw new Error("the row of edge_tables is missing")
  return row.generation
}

/**
 * The release before compares what it reads with a hash of what it sent last: an empty one makes it send its table, after a return to it.
 * @returns  the number of a new table, higher than all before and than `above`
 */
export async function nextGeneration(tx: Db, above: number): Promise<number> {
  const row = await tx.row<{ generation: number }>(sql`
    update edge_tables set generation = greatest(generation, ${above}::bigint) + 1, content_sha256 = ''
    returning generation`)
  if (!row) throw new Error("the row of edge_tables is missing")
  return row.generation
}

/** Milliseconds until the table changes by the passing of time alone. */
export async function nextTableChangeMs(db: Db): Promise<number | undefined> {
  const row = await db.row<{ due_ms: number | null }>(sql`
    select ceil(extract(epoch from min(at) - superstep_now()) * 1000)::float8 as due_ms from (
      select min(expires_at) as at from api_keys where expires_at > superstep_now() and revoked_at is null
      union all select min(refused_until) from sleeps where refused_until > superstep_now()
    ) changes`)
  return row?.due_ms ?? undefined
}
