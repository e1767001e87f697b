/** The tables `units` and `edge_tables`, and what the pipeline reads and writes of deployments. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { PreflightRule } from "@superstep/toolkit/http/cross-origin"
import type { DeploymentStatus, ResourceSpec } from "../deployments/deployment.js"
import type { RevisionRow } from "../revisions/queries.js"

/** A deployment as the pipeline sees it. */
export interface CarriedDeployment {
  readonly deployment_id: string
  readonly workspace_id: string
  readonly route_name: string
  readonly status: DeploymentStatus
  readonly active_revision_id: string | null
  readonly database_name: string | null
  readonly database_password_sealed: string | null
  readonly uid_offset: number
  readonly desired_run_state: "running" | "paused"
}

const deploymentColumns = sql`deployment_id, workspace_id, route_name, status, active_revision_id, database_name,
  database_password_sealed, uid_offset, desired_run_state`

export const deploymentById = (db: Db, deploymentId: string): Promise<CarriedDeployment | undefined> =>
  db.row(sql`select ${deploymentColumns} from deployments where deployment_id = ${deploymentId}`)

/** Notes the database that is about to be made; the first to do so wins, and its password counts. */
export const nameDatabase = (db: Db, deploymentId: string, name: string, passwordSealed: string): Promise<number> =>
  db.run(sql`
    update deployments set database_name = ${name}, database_password_sealed = ${passwordSealed}
    where deployment_id = ${deploymentId} and database_name is null and delete_requested_at is null`)

/** @returns 0 when it is to be deleted */
export const markReady = (db: Db, deploymentId: string): Promise<number> =>
  db.run(sql`
    update deployments set updated_at = now(),
      status = case status when 'AWAITING_DATABASE' then 'READY' else status end
    where deployment_id = ${deploymentId} and delete_requested_at is null`)

export const setActiveRevision = (db: Db, deploymentId: string, revisionId: string | null): Promise<number> =>
  db.run(sql`
    update deployments set active_revision_id = ${revisionId}, updated_at = now()
    where deployment_id = ${deploymentId}`)

export type UnitState = "starting" | "serving" | "draining" | "stopping"

export interface UnitRow {
  readonly unit_id: string
  readonly deployment_id: string
  readonly revision_id: string
  /** 0, 1 … within its revision. */
  readonly ordinal: number
  readonly state: UnitState
  readonly token_sealed: string
  /** Whether it may be sent requests once it serves. */
  readonly is_ready: boolean
  readonly last_end: "oom_killed" | null
  /** Of its own process, in a row. */
  readonly crashes: number
  /** Of its workers, in a row: those that count against the project, and why the last one ended. */
  readonly worker_crashes: number
  readonly last_worker_crash: string | null
  /** It said at the last look that it is ready. */
  readonly is_answering: boolean
  /** What it says about pages of other origins; null when only the unit itself can tell. */
  readonly cross_origin: PreflightRule | null
  /** How long ago it was last to be started, in milliseconds; as long as it runs, about how long it has been up. */
  readonly up_ms: number
  readonly is_down: boolean
  /** How long it has been in its state, in milliseconds. */
  readonly state_ms: number
  readonly log_offset: number
}

const unitColumns = sql`unit_id, deployment_id, revision_id, ordinal, state, token_sealed, is_ready, last_end, crashes, is_down, log_offset,
  worker_crashes, last_worker_crash, is_answering, cross_origin,
  (extract(epoch from now() - start_after) * 1000)::bigint as up_ms,
  (extract(epoch from now() - state_since) * 1000)::bigint as state_ms`

export const addUnit = (
  db: Db,
  unit: { unitId: string; deploymentId: string; revisionId: string; ordinal: number; tokenSealed: string },
): Promise<number> =>
  db.run(sql`
    insert into units (unit_id, deployment_id, revision_id, ordinal, state, token_sealed, restart_generation)
    select ${unit.unitId}::uuid, deployment_id, ${unit.revisionId}::uuid, ${unit.ordinal}, 'starting',
      ${unit.tokenSealed}, restart_generation from deployments where deployment_id = ${unit.deploymentId}
    on conflict (revision_id, ordinal) do nothing`)

export const unitById = (db: Db, unitId: string): Promise<UnitRow | undefined> =>
  db.row(sql`select ${unitColumns} from units where unit_id = ${unitId}`)

/** Its replicas, in order. */
export const unitsOfRevision = (db: Db, revisionId: string): Promise<UnitRow[]> =>
  db.rows(sql`select ${unitColumns} from units where revision_id = ${revisionId} order by ordinal`)

/** Newest first. */
export const unitsOfDeployment = (db: Db, deploymentId: string): Promise<UnitRow[]> =>
  db.rows(sql`
    select ${unitColumns} from units where deployment_id = ${deploymentId}
    order by created_at desc, revision_id, ordinal`)

/** A unit with what its deployment's owner and the need for it ask of it. */
export interface WatchedUnit extends UnitRow {
  /** Its process should run. */
  readonly is_wanted: boolean
  /** Its back-off is over, or somebody asked for a restart since it was started. */
  readonly may_start: boolean
  /** It should be restarted, and it is its turn: one replica after the other. */
  readonly is_outdated: boolean
}

const watched = sql`(
  select units.*, d.restart_generation as wanted_generation,
    units.state = 'starting' or (d.desired_run_state = 'running' and (s.deployment_id is null or s.is_waking)) as is_wanted
  from units join deployments d using (deployment_id) left join sleeps s using (deployment_id)) as watched`

/** One that waits for the back-off after a crash takes no requests either: the others stay until it is back. */
export const allUnits = (db: Db): Promise<WatchedUnit[]> =>
  db.rows(sql`
    select ${unitColumns}, start_after <= now() or restart_generation < wanted_generation as may_start, is_wanted,
      state = 'serving' and restart_generation < wanted_generation and not exists (
      select from units o where o.revision_id = watched.revision_id and o.unit_id <> watched.unit_id
        and (not o.is_ready or o.is_down or not o.is_answering
          or (o.ordinal < watched.ordinal and o.restart_generation < watched.wanted_generation))
    ) as is_outdated
    from ${watched}`)

/** Whether its process should run at this moment. */
export const isWanted = async (db: Db, unitId: string): Promise<boolean> =>
  (await db.row(sql`select from ${watched} where unit_id = ${unitId} and is_wanted`)) !== undefined

/** Its requests wait from now on, or go to the other replicas. @returns 0 when they did so before */
export const holdBack = (db: Db, unitId: string): Promise<number> =>
  db.run(sql`update units set is_ready = false where unit_id = ${unitId} and is_ready`)

/** It gets requests from now on, and its deployment is awake. */
export async function letIn(tx: Db, unit: Pick<UnitRow, "unit_id" | "deployment_id">): Promise<void> {
  await tx.run(sql`
    update units set is_ready = true, is_answering = true, active_at = now() where unit_id = ${unit.unit_id}`)
  await tx.run(sql`delete from sleeps where deployment_id = ${unit.deployment_id} and is_waking`)
}

export const setUnitState = (db: Db, unitId: string, state: UnitState): Promise<number> =>
  db.run(sql`
    update units set state = ${state}, state_since = now() where unit_id = ${unitId} and state <> ${state}`)

/**
 * Makes a revision's units the serving ones; whichever served before drain. In that order: one revision serves a
 * deployment.
 * @throws Error  when its units are stopping or gone
 */
export async function serveWith(tx: Db, deploymentId: string, revisionId: string): Promise<void> {
  await tx.run(sql`
    update units set state = 'draining', state_since = now()
    where deployment_id = ${deploymentId} and state = 'serving' and revision_id <> ${revisionId}`)
  const served = await tx.run(sql`
    update units set state = 'serving', state_since = now(), active_at = now(), crashes = 0, is_down = false
    where revision_id = ${revisionId} and state <> 'stopping'`)
  if (served === 0) throw new Error(`the units of revision ${revisionId} have ended, or are about to`)
  // Its units run; or they did before it slept, and are started again.
  await tx.run(sql`delete from sleeps where deployment_id = ${deploymentId}`)
}

/** Ends all units of a revision. */
export const stopRevision = (tx: Db, revisionId: string): Promise<number> =>
  tx.run(sql`
    update units set state = 'stopping', state_since = now()
    where revision_id = ${revisionId} and state <> 'stopping'`)

export interface SizedUnit {
  readonly unit_id: string
  readonly revision_id: string
  readonly resource_spec: ResourceSpec
}

/** Units whose revision asks for resources. */
export const sizedUnits = (db: Db): Promise<SizedUnit[]> =>
  db.rows(sql`
    select unit_id, revision_id, r.source_config -> 'resource_spec' as resource_spec
    from units u join revisions r using (revision_id)
    where u.state <> 'stopping' and jsonb_typeof(r.source_config -> 'resource_spec') = 'object'`)

export const noteMemoryEnd = (tx: Db, unitId: string): Promise<number> =>
  tx.run(sql`update units set last_end = 'oom_killed' where unit_id = ${unitId}`)

/** Whoever holds this gives out connections; the end of the transaction lets the next one. */
export const lockConnections = (tx: Db): Promise<number> => tx.run(sql`select pg_advisory_xact_lock(${connectionLock})`)

// Any constant of our own.
const connectionLock = 7_283_116

export interface ConnectionUse {
  /** Of the unit itself. */
  readonly own: number
  /** Of all units, and of all units of its deployment. */
  readonly used: number
  readonly of_deployment: number
  readonly database_name: string | null
  /** What its revision asks for (`db_max_connections`). */
  readonly most: number | null
}

export const connectionUse = async (
  tx: Db,
  { unit_id, deployment_id }: Pick<UnitRow, "unit_id" | "deployment_id">,
): Promise<ConnectionUse> => {
  const row = await tx.row<ConnectionUse>(sql`
    select u.connections as own, d.database_name, (select sum(connections) from units) as used,
      (select sum(connections) from units where deployment_id = ${deployment_id}) as of_deployment,
      case jsonb_typeof(r.source_config -> 'resource_spec' -> 'db_max_connections') when 'number'
        then (r.source_config -> 'resource_spec' ->> 'db_max_connections')::float8::int end as most
    from units u join deployments d using (deployment_id) join revisions r using (revision_id)
    where u.unit_id = ${unit_id}`)
  if (!row) throw new Error(`unit ${unit_id} is gone`)
  return row
}

/** Of all units. */
export const usedConnections = async (tx: Db): Promise<number> =>
  (await tx.row<{ used: number }>(sql`select coalesce(sum(connections), 0) as used from units`))?.used ?? 0

export const setConnections = (db: Db, unitId: string, connections: number): Promise<number> =>
  db.run(sql`update units set connections = ${connections} where unit_id = ${unitId}`)

/**
 * It cannot be started now: it is tried again later, and whoever waits for its deployment is told. Where another replica
 * has its connections, that one is what they wait for.
 */
export async function putOff(tx: Db, unit: Pick<UnitRow, "unit_id" | "deployment_id">, againMs: number): Promise<void> {
  await tx.run(sql`
    update units set start_after = now() + ${againMs} * interval '1 millisecond' where unit_id = ${unit.unit_id}`)
  await tx.run(sql`
    update sleeps set is_waking = false, refused_until = now() + ${againMs} * interval '1 millisecond'
    where deployment_id = ${unit.deployment_id} and not exists (
      select from units o where o.deployment_id = sleeps.deployment_id and o.unit_id <> ${unit.unit_id}
        and o.connections > 0)`)
}

/** Ends units that were draining; one that serves again meanwhile goes on. */
export const stopDraining = (tx: Db, unitIds: readonly string[]): Promise<number> =>
  tx.run(sql`
    update units set state = 'stopping', state_since = now() where unit_id = any(${unitIds}) and state = 'draining'`)

/**
 * Ends units that have drained for too long and that no revision looks after: the one that took over has failed. As
 * long as a revision is between its switch and the end of its drain, it decides.
 */
export const stopForgottenUnits = (db: Db, drainMs: number): Promise<number> =>
  db.run(sql`
    update units set state = 'stopping', state_since = now()
    where state = 'draining' and state_since < now() - ${drainMs} * interval '1 millisecond' and not exists (
      select 1 from revisions r
      where r.deployment_id = units.deployment_id and r.stage in ('switch', 'verify', 'drain'))`)

/** Whether a unit should be active. During a switch the next one is, though this one still has the requests. */
export const executesRuns = async (db: Db, unitId: string): Promise<boolean> => {
  const row = await db.row(sql`
    select 1 from units u where u.unit_id = ${unitId} and u.state = 'serving' and not exists (
      select 1 from revisions r where r.deployment_id = u.deployment_id and r.stage = 'switch')`)
  return row !== undefined
}

/** How much of a unit's output is stored, in bytes; undefined when the unit is gone. */
export const unitLogOffset = async (db: Db, unitId: string): Promise<number | undefined> => {
  const row = await db.row<{ log_offset: number }>(sql`select log_offset from units where unit_id = ${unitId}`)
  return row?.log_offset
}

/** @returns false when it is not at `from` any more: somebody else stored that piece */
export const moveUnitLog = async (
  tx: Db,
  unitId: string,
  { from, to }: { from: number; to: number },
): Promise<boolean> =>
  (await tx.run(sql`update units set log_offset = ${to} where unit_id = ${unitId} and log_offset = ${from}`)) > 0

export const removeUnit = (db: Db, unitId: string): Promise<number> =>
  db.run(sql`delete from units where unit_id = ${unitId}`)

/** Ends units that no pipeline cares for any more: their revision was interrupted, or failed while we were away. */
export const stopForsakenUnits = (db: Db): Promise<number> =>
  db.run(sql`
    update units set state = 'stopping', state_since = now()
    from revisions r where r.revision_id = units.revision_id and units.state = 'starting' and r.stage is null`)

export const revisionOfUnit = (db: Db, unitId: string): Promise<RevisionRow | undefined> =>
  db.row(sql`select r.* from revisions r join units u using (revision_id) where u.unit_id = ${unitId}`)

/**
 * Everything that the edge has to know, one row for each unit that serves or stands by. One that is not ready gets no
 * requests.
 */
export interface RouteRow {
  readonly name: string
  readonly deployment_id: string
  readonly revision_id: string
  readonly workspace_id: string
  readonly unit_id: string
  readonly state: UnitState
  readonly token_sealed: string
  readonly is_ready: boolean
  readonly is_paused: boolean
  readonly deployment_type: string | null
  readonly cross_origin: PreflightRule | null
  /** It could not be woken a moment ago, since there is no room for it. */
  readonly is_refused: boolean
}

/**
 * The units that serve, and of each deployment the one that served before, as long as the new one is watched.
 * @param standbyMs  how long that is at most, from a revision's DEPLOYED on, in milliseconds
 */
export const servingRoutes = (db: Db, standbyMs: number): Promise<RouteRow[]> =>
  db.rows(sql`
    select d.route_name as name, d.deployment_id, u.revision_id, d.workspace_id, u.unit_id, u.state, u.token_sealed,
      u.is_ready, d.desired_run_state = 'paused' as is_paused, coalesce(s.refused_until > now(), false) as is_refused,
      d.source_config ->> 'deployment_type' as deployment_type, u.cross_origin
    from units u join deployments d using (deployment_id) left join sleeps s using (deployment_id)
    where d.delete_requested_at is null and (u.state = 'serving' or u.state = 'draining' and u.revision_id = (
      select old.revision_id from units old join revisions r using (deployment_id)
      where old.deployment_id = u.deployment_id and old.state = 'draining' and r.stage in ('switch', 'verify', 'drain')
        and (r.finished_at is null or r.finished_at > now() - ${standbyMs} * interval '1 millisecond')
      order by old.created_at desc, old.revision_id limit 1))
    order by d.route_name, u.ordinal, u.unit_id`)

/** Locks the row, so that tables are numbered one after the other. */
export const lockEdgeTable = (tx: Db): Promise<{ generation: number; content_sha256: string } | undefined> =>
  tx.row(sql`select generation, content_sha256 from edge_tables for update`)

export const saveEdgeTable = (tx: Db, generation: number, contentSha256: string): Promise<number> =>
  tx.run(sql`update edge_tables set generation = ${generation}, content_sha256 = ${contentSha256}`)

/** Deployments whose removal was asked for. */
export const deploymentsToDelete = (db: Db): Promise<CarriedDeployment[]> =>
  db.rows(sql`select ${deploymentColumns} from deployments where delete_requested_at is not null`)

export const allDeploymentIds = async (db: Db): Promise<ReadonlySet<string>> => {
  const rows = await db.rows<{ deployment_id: string }>(sql`select deployment_id from deployments`)
  return new Set(rows.map(({ deployment_id }) => deployment_id))
}

export const setDeploymentStatus = (db: Db, deploymentId: string, status: DeploymentStatus): Promise<number> =>
  db.run(sql`update deployments set status = ${status}, updated_at = now() where deployment_id = ${deploymentId}`)

/** Takes every unfinished revision from its process, which notices at its next renewal. */
export const endPipelineOf = (db: Db, deploymentId: string): Promise<number> =>
  db.run(sql`
    update revisions set stage = null, lease_owner = null, lease_until = null, fence = fence + 1, updated_at = now(),
      status = case status when 'DEPLOYED' then status else 'INTERRUPTED' end,
      error_code = case status when 'DEPLOYED' then error_code else 'interrupted' end,
      finished_at = coalesce(finished_at, now())
    where deployment_id = ${deploymentId} and stage is not null`)

export const revisionIdsOf = async (db: Db, deploymentId: string): Promise<ReadonlySet<string>> => {
  const rows = await db.rows<{ revision_id: string }>(sql`
    select revision_id from revisions where deployment_id = ${deploymentId}`)
  return new Set(rows.map(({ revision_id }) => revision_id))
}

export const stopUnitsOf = (db: Db, deploymentId: string): Promise<number> =>
  db.run(sql`
    update units set state = 'stopping', state_since = now()
    where deployment_id = ${deploymentId} and state <> 'stopping'`)

export async function removeDeployment(tx: Db, deploymentId: string): Promise<void> {
  await tx.run(sql`
    update deployments set latest_revision_id = null, active_revision_id = null where deployment_id = ${deploymentId}`)
  await tx.run(sql`delete from deployments where deployment_id = ${deploymentId}`)
}

/** Of the folders below `work`, those whose revision is being fetched or built. */
export const revisionsInBuild = async (db: Db): Promise<ReadonlySet<string>> => {
  const rows = await db.rows<{ revision_id: string }>(sql`
    select revision_id from revisions where stage in ('fetch', 'build')`)
  return new Set(rows.map(({ revision_id }) => revision_id))
}

/** How long ago a revision got its DEPLOYED. */
export const deployedMs = async (db: Db, revisionId: string): Promise<number> => {
  const row = await db.row<{ ms: number }>(sql`
    select (extract(epoch from now() - finished_at) * 1000)::bigint as ms
    from revisions where revision_id = ${revisionId}`)
  return row?.ms ?? 0
}
